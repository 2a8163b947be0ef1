// Workspaces made to hold up whoever looks at them, the same for every adapter. A look ends after a bounded number of entries, levels and
// bytes of names, and says why. The session can still go back to what it was.
import { expect, inject, it } from "vitest";
import type { Changes, CheckpointPart } from "../../packages/sandbox/src/checkpoint/workspace.ts";
import { packFiles } from "../../packages/sandbox/src/pack-files.ts";
import type { Session } from "../../packages/sandbox/src/port.ts";
import type { CheckpointHarness } from "./checkpoint-cases.ts";

const maxBytes = 100_000_000;
/** So long that only what was counted ends a look. That others get their turn meanwhile is counted beside look.ts and read-places.ts. */
const unhurried = { maxMs: 3_600_000 } as const;

/** A look ends at 20,000 entries, however many there are. A container with this memory has room for 26,000. */
const FILES = inject("thorough") ? 25_000 : 21_000;
/** Together longer than a path the kernel takes. */
const LEVELS = inject("thorough") ? 10_000 : 3_000;

const hostile = [
  {
    name: `${FILES} files`,
    many: true,
    // Bash makes no files fast; perl is part of every sandbox.
    text: `mkdir many; LC_ALL=C perl -e 'for (1 .. ${FILES}) { open(my $f, ">", "many/f$_") or die "$_ $!" }'; ls many | wc -l`,
    says: `${FILES}\n`,
    code: "SANDBOX_CHECKPOINT_TOO_LARGE",
  },
  {
    name: "21,000 folders that nobody may read",
    text: `mkdir many; LC_ALL=C perl -e 'for (1 .. 21000) { mkdir "many/d$_" or die; chmod 0, "many/d$_" } print "made\\n"'`,
    says: "made\n",
    code: "SANDBOX_CHECKPOINT_TOO_LARGE",
  },
  {
    name: `folders of ${LEVELS} levels`,
    deep: true,
    text: `LC_ALL=C perl -e 'for (1 .. ${LEVELS}) { mkdir "d" or die "$_ $!"; chdir "d" or die } print "made\\n"'`,
    says: "made\n",
    code: "SANDBOX_CHECKPOINT_TOO_LARGE",
  },
  {
    name: "paths longer than the kernel takes",
    text: `LC_ALL=C perl -e 'for (1 .. 40) { my $n = "n" x 250; mkdir $n or die $!; chdir $n or die } print "made\\n"'`,
    says: "made\n",
    code: "SANDBOX_CHECKPOINT_TOO_LARGE",
  },
  {
    name: "names of 250 bytes, by the thousand",
    text: `mkdir ${"p".repeat(250)}; cd ${"p".repeat(250)}; LC_ALL=C perl -e 'for (1 .. 9000) { open(my $f, ">", sprintf("%0250d", $_)) or die "$_ $!" } print "made\\n"'; cd ..`,
    says: "made\n",
    code: "SANDBOX_CHECKPOINT_TOO_LARGE",
  },
];

export function describeLooks({ open, ownTmp, shared, readByHost, spec }: CheckpointHarness): void {
  const ofFiles = it.runIf(shared || !readByHost);
  /** Bounds are kept by the one who looks; a workspace is removed by each adapter in its own way, for which depth is the trouble. */
  const tried = hostile.filter(({ deep = false, many = false }) => shared || (readByHost ? deep : deep || many));
  const sh = async (session: Session, text: string) => (await session.run({ kind: "shell", text })).output;
  const given = async (): Promise<CheckpointPart> => ({
    whole: true,
    removed: [],
    tar: await packFiles(spec().files, maxBytes),
    within: "workspace",
  });

  it.each(tried)("$name end a look by what it counts, and the way back is open", async ({ text, says, code }) => {
    const session = await open();
    const first = await session.snapshot();
    const { cwd } = session.state;
    expect(await sh(session, text)).toBe(says);
    await expect(session.changes(first, { maxBytes, ...unhurried })).rejects.toMatchObject({ code });
    await expect(session.snapshot(unhurried)).rejects.toMatchObject({ code });
    expect(await session.processes()).toEqual([]);
    // The session goes on, and back.
    expect(await sh(session, "echo on")).toBe("on\n");
    await session.rewind({ snapshot: first, parts: [await given()] });
    expect(await sh(session, `cd '${cwd}'; find . -mindepth 1 | LC_ALL=C sort; cat main.py`)).toBe(
      "./lib\n./lib/data.txt\n./main.py\nprint('from main')\n",
    );
    expect((await session.changes(await session.snapshot(), { maxBytes })).kind).toBe("same");
  });

  ofFiles("a look has the entries and the time it is given, and no more", async () => {
    const session = await open();
    await sh(session, "mkdir few; for n in {1..300}; do : > few/$n; done");
    await expect(session.changes(null, { maxBytes, maxEntries: 200 })).rejects.toMatchObject({
      code: "SANDBOX_CHECKPOINT_TOO_LARGE",
    });
    await expect(session.snapshot({ maxEntries: 200 })).rejects.toMatchObject({ code: "SANDBOX_CHECKPOINT_TOO_LARGE" });
    await sh(session, `LC_ALL=C perl -e 'for (1 .. 4000) { open(my $f, ">", "few/x$_") or die }'`);
    await expect(session.changes(null, { maxBytes, maxMs: 1 })).rejects.toMatchObject({
      code: "SANDBOX_CHECKPOINT_TOO_SLOW",
    });
    expect((await session.changes(null, { maxBytes, maxMs: 60_000 })).kind).toBe("whole");
  });

  // Without walls it would stop programs of the machine.
  it.runIf(ownTmp)(
    "who stops the programs that look gains nothing: the look ends, and the next command runs",
    async () => {
      const session = await open();
      await sh(
        session,
        `(LC_ALL=C perl -e 'while (1) { for my $p (glob "/proc/[0-9]*") { open(my $f, "<", "$p/comm") or next; my $c = <$f>;
         kill STOP => substr($p, 6) if $c =~ /^(find|tar|timeout|head|date)$/ } }' >/dev/null 2>&1 &); sleep 0.2`,
      );
      // It ends, well or not: a look that waits for programs that were stopped never does.
      const told = await session.changes(null, { maxBytes, maxMs: 1_500 }).then(
        ({ kind }) => kind,
        (error: { readonly code?: string }) => error.code,
      );
      expect(["whole", "SANDBOX_CHECKPOINT_TOO_SLOW"]).toContain(told);
      expect((await session.run({ kind: "shell", text: "echo on", clean: true })).output).toBe("on\n");
      expect((await session.changes(null, { maxBytes })).kind).toBe("whole");
      // With the loop that it left.
      await session.end();
    },
  );

  ofFiles(
    "what changes while it is looked at is kept as it was read, or told; a checkpoint contains what it says",
    async () => {
      const session = await open();
      // Files that grow, shrink, go and come back, become links and folders, as fast as they can.
      await sh(
        session,
        `mkdir race; (LC_ALL=C perl -e 'chdir "race"; my $n = 0; while (1) { $n++; my $f = "f" . $n % 50;
         open(my $o, $n % 3 ? ">>" : ">", $f) and print $o "x" x ($n % 5000);
         if ($n % 7 == 0) { unlink $f } elsif ($n % 11 == 0) { unlink $f; symlink("/etc/passwd", $f) }
         elsif ($n % 13 == 0) { unlink $f; mkdir $f; rmdir $f } elsif ($n % 17 == 0) { rename $f, "g" . $n % 50 } }' >/dev/null 2>&1 &); sleep 0.2`,
      );
      const taken: Changes[] = [];
      for (let round = 0; round < 8; round += 1) {
        const since = taken.at(-1)?.snapshot ?? null;
        taken.push(await session.changes(since, { maxBytes }));
      }
      const parts = taken.flatMap((one) =>
        one.kind === "same" ? [] : [{ whole: one.kind === "whole", removed: one.removed, tar: one.tar }],
      );
      const other = await open({ kind: "list", files: [] });
      const last = taken.at(-1)?.snapshot;
      if (last === undefined) throw new Error("nothing was taken");
      await other.rewind({ snapshot: { ...last, processes: [] }, parts });
      await session.end();
      expect(await sh(other, "grep -l root race/* 2>/dev/null | wc -l; ls race | wc -l")).toMatch(/^\d+\n[1-9]\d*\n$/);
    },
  );
}
