import java.util.Scanner;

/** The teacher's main program: reads a year, prints what the student's method says of it. */
public class LeapMain {
    public static void main(String[] args) {
        int year = new Scanner(System.in).nextInt();
        try {
            System.out.println(Leap.isLeap(year));
        } catch (IllegalArgumentException error) {
            System.out.println("IllegalArgumentException");
        }
    }
}
