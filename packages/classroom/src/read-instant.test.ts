import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { isTimeZone, readInstant, zoneOfText } from "./read-instant.ts";

const at = (text: string, zone?: string) => {
  const read = readInstant(text, zone);
  return read.is === "read" ? new Date(read.at).toISOString() : read.why;
};

describe("reading a time", () => {
  it.each([
    "Friday, 13 November 2026, 5:16 PM",
    "Friday, November 13, 2026, 5:16 PM",
    "13 November 2026, 5:16 PM",
    "Friday, 13 November 2026, 05:16 PM",
    "Friday, 13 November 2026, 5:16\u202fPM",
    "Freitag, 13. November 2026, 17:16",
    "13. November 2026, 17:16",
    "Fr., 13. Nov. 2026, 17:16 Uhr",
    "Freitag, den 13. November 2026 um 17:16 Uhr",
    "vendredi 13 novembre 2026, 17:16",
    "Vendredi 13 novembre 2026 à 17h16",
    "13 novembre 2026, 17:16",
    "viernes, 13 de noviembre de 2026, 17:16",
    "13 de noviembre de 2026, 17:16",
    "viernes, 13 de noviembre de 2026, 5:16 p. m.",
    "venerdì, 13 novembre 2026, 17:16",
    "sexta-feira, 13 de novembro de 2026, 17:16",
    "vrijdag, 13 november 2026, 17:16",
    "Nov 13, 2026 at 5:16pm",
    "Nov 13, 2026 5:16 PM",
    "13.11.2026 17:16",
    "13.11.2026, 17:16:00",
    "13/11/2026 17:16",
    "11/13/2026 5:16 PM",
    "2026-11-13 17:16",
    "2026-11-13T17:16:00",
    "2026-11-13_17-16-00",
    "20261113-171600",
  ])("gives the time %s in the zone of the class", (text) => {
    expect(at(text)).toBe("2026-11-13T17:16:00.000Z");
    expect(at(text, "Europe/Berlin")).toBe("2026-11-13T16:16:00.000Z");
    expect(at(text, "-08:00")).toBe("2026-11-14T01:16:00.000Z");
    expect(readInstant(text)).toMatchObject({ zoned: false });
  });

  it.each([
    ["2026-11-13T17:16:00Z", "2026-11-13T17:16:00.000Z"],
    ["2026-11-13 17:16:05 -0800", "2026-11-14T01:16:05.000Z"],
    ["2026-11-13 17:16:05.123456789 +01:00", "2026-11-13T16:16:05.123Z"],
    ["2026-11-13 17:16 UTC", "2026-11-13T17:16:00.000Z"],
    ["2026-11-13T17:16:00,5Z", "2026-11-13T17:16:00.500Z"],
    ["Friday, 13 November 2026, 5:16 PM UTC", "2026-11-13T17:16:00.000Z"],
  ])("uses the offset from UTC in %s", (text, instant) => {
    expect(at(text, "Asia/Tokyo")).toBe(instant);
    expect(readInstant(text)).toMatchObject({ zoned: true });
  });

  it.each([
    ["2026-02-30T00:00:00Z", "no day 30 in month 2"],
    ["2026-02-29T00:00:00Z", "no day 29"],
    ["2026-04-31T12:00:00+02:00", "no day 31"],
    ["2026-13-01T12:00:00Z", "no month 13"],
    ["2026-00-10T12:00:00Z", "no month 0"],
    ["2026-01-00T12:00:00Z", "no day 0"],
    ["2026-01-01T24:61:00Z", "no time 24:61"],
    ["2026-01-01T24:00:00Z", "no time 24:00"],
    ["2026-01-01T23:60:00Z", "no time 23:60"],
    ["2026-01-01T23:59:60Z", "no time 23:59:60"],
    ["2026-01-01T12:00:00+25:00", "no time zone has this UTC offset"],
    ["2026-01-01T12:00:00+01:75", "no time zone has this UTC offset"],
    ["30 February 2026, 5:16 PM", "no day 30"],
    ["31. April 2026, 17:16", "no day 31"],
    ["31.04.2026 17:16", "no day 31"],
    ["Friday, 13 November 2026, 13:16 PM", "13 pm is not a valid hour"],
    ["13 November 2026, 0:16 AM", "0 am is not a valid hour"],
    ["Thursday, 13 November 2026, 5:16 PM", "is no thursday but a friday"],
    ["Donnerstag, 13. November 2026, 17:16", "is no thursday but a friday"],
    ["jeudi 13 novembre 2026, 17:16", "is no thursday but a friday"],
    ["05/11/2026 17:16", "could be two days"],
    ["Friday, 13 Smarch 2026, 5:16 PM", "its format is unknown"],
    ["Blursday, 13 November 2026, 5:16 PM", "its format is unknown"],
    ["13 November 2026", "its format is unknown"],
    ["2026-11-13", "its format is unknown"],
    ["November 13 at 5:16PM", "its format is unknown"],
    ["tomorrow", "its format is unknown"],
    ["", "its format is unknown"],
    ["1762963200", "its format is unknown"],
  ])("refuses %j", (text, why) => {
    expect(readInstant(text)).toMatchObject({ is: "unreadable", why: expect.stringContaining(why) });
  });

  it.each([
    ["12 November 2026, 12:00 AM", "2026-11-12T00:00:00.000Z"],
    ["12 November 2026, 12:00 PM", "2026-11-12T12:00:00.000Z"],
    ["12 November 2026, 11:59 p.m.", "2026-11-12T23:59:00.000Z"],
    ["29 February 2028, 5:16 AM", "2028-02-29T05:16:00.000Z"],
    ["5/5/2026 17:16", "2026-05-05T17:16:00.000Z"],
  ])("reads %s as %s", (text, instant) => expect(at(text)).toBe(instant));

  it("chooses the earlier instant in the hour that autumn repeats, and the hour after the change in the hour that spring omits", () => {
    expect(at("2026-10-25 02:30", "Europe/Berlin")).toBe("2026-10-25T00:30:00.000Z");
    expect(at("2026-10-25 03:30", "Europe/Berlin")).toBe("2026-10-25T02:30:00.000Z");
    expect(at("2026-03-29 02:30", "Europe/Berlin")).toBe("2026-03-29T01:30:00.000Z");
    expect(at("2026-03-29 03:30", "Europe/Berlin")).toBe("2026-03-29T01:30:00.000Z");
  });

  it("returns the same instant for any time in ISO 8601", () => {
    const year = 365 * 86_400_000;
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 80 * year }), (ms) => {
        expect(readInstant(new Date(ms).toISOString())).toEqual({ is: "read", at: ms, zoned: true });
      }),
    );
  });
});

describe("a time zone", () => {
  it("is a name of the IANA database", () => {
    expect(["Europe/Berlin", "UTC", "America/Argentina/Buenos_Aires"].map(isTimeZone)).toEqual([true, true, true]);
    expect(["Berlin", "", "MEZ?", "../x", "+01:00"].map(isTimeZone)).toEqual([false, false, false, false, false]);
  });

  it("is read from the end of a text", () => {
    expect(["2026-11-20T23:59:00+01:00", "2026-11-20 23:59 -0330", "2026-11-20T23:59Z"].map(zoneOfText)).toEqual([
      "+01:00",
      "-03:30",
      "UTC",
    ]);
    expect(zoneOfText("2026-11-20 23:59")).toBeNull();
  });
});
