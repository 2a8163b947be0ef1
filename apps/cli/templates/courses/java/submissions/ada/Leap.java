// A year is 365.2425 days long: a day more every 4 years is a little too much, so three days in 400 years are left out again.
public class Leap {
    public static boolean isLeap(int year) {
        if (year < 1) throw new IllegalArgumentException("no year: " + year);
        if (year % 400 == 0) return true;
        if (year % 100 == 0) return false;
        return year % 4 == 0;
    }
}
