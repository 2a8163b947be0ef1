public class Leap {
    public static boolean isLeap(int y) {
        if (y < 1) throw new IllegalArgumentException("y");
        return (y % 4 == 0 && y % 100 != 0) || y % 400 == 0;
    }
}
