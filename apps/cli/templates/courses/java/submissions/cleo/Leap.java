// Every fourth year has a day more.
public class Leap {
    public static boolean isLeap(int year) {
        boolean isYear = year >= 1;
        if (!isYear) throw new IllegalArgumentException("a whole number, please");
        return year % 4 == 0;
    }
}
