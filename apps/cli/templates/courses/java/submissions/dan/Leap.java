// Divides by 4, 100 and 400.
public class Leap {
    public static boolean isLeap(int year) {
        if (year % 400 == 0 return true;
        return year % 4 == 0 && year % 100 != 0;
    }
}
