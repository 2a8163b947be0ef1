// Not done yet.
public class Leap {
    public static boolean isLeap(int year) {
        throw new UnsupportedOperationException();
    }
}
