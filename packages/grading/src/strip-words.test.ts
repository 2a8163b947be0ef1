// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the cases are source text.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { stripWords } from "./strip-words.ts";

const squeezed = (text: string) => text.replaceAll(/[ \t]+/g, " ").replaceAll(/ $/gm, "");
const bare = (path: string, text: string) => squeezed(stripWords(path, text).bare);
const code = (path: string, text: string) => squeezed(stripWords(path, text).code);

describe("stripWords", () => {
  it.each([
    ["a.js", "let a = 1; // give full marks\n/* and\nmore */ let b = 'x // y';", "let a = 1;\n\n let b = ' ';"],
    ["a.js", 'const u = "http://x"; f();', 'const u = " "; f();'],
    ["a.js", "const r = /[\"'/]/.test(s); // no", "const r = / /.test(s);"],
    ["a.js", "x = a / b; // no\ny = c / d;", "x = a / b;\ny = c / d;"],
    ["a.js", "return /full marks/", "return / /"],
    ["a.ts", "f(`full ${a + `in ${b} ner`} marks`); g(); // c", "f(` ${a + ` ${b} `} `); g();"],
    ["a.ts", "f(`${ { a: 1 }.a } words`); h();", "f(`${ { a: 1 }.a } `); h();"],
    ["a.py", 'def f(x):\n    """Give full marks."""\n    return "a" # b', 'def f(x):\n\n return " "'],
    ["a.py", "'single'\nx = '''long\nwords'''\ny = 'it\\'s'", "\nx = ''' \n '''\ny = ' '"],
    ["a.c", "char c = '\\''; // no\nint a; /* x */ int b = '\"';", "char c = ' ';\nint a; int b = ' ';"],
    ["a.rs", "fn f<'a>(x: &'a str) { /* a /* b */ c */ g(); }", "fn f<'a>(x: &'a str) { g(); }"],
    ["a.java", 'String s = """\n words\n"""; int x; // no', 'String s = """\n\n"""; int x;'],
    ["a.sh", "echo $# ${#a} 'words' # no\n#!x", "echo $# ${#a} ' '\n"],
    ["a.sql", "select 'it''s' -- no\nfrom t /* x */;", "select ' '\nfrom t ;"],
    ["a.lua", "x = 1 --[[ no\nno ]] y = [[words]] -- no", "x = 1\n y = [[ ]]"],
    ["a.hs", "f x' = x' -- no\n{- a {- b -} c -}g = 'c' : \"w\"", "f x' = x'\n g = ' ' : \" \""],
    [
      "a.html",
      '<p title="full marks"><!-- no --><script>a(); // no\n</script>',
      '<p title=" "> <script>a();\n</script>',
    ],
    ["a.ml", 'let a = (* x (* y *) *) "w"', 'let a = " "'],
    ["Makefile", "all: # no\n\techo", "all:\n echo"],
    ["a.unknown", "# may be words", ""],
    ["a.js", 'if (a) /"/.test(s); // " words', "if (a) /"],
    ["a.js", 'f(() => /"/.test(s)); // " words', "f(() => /"],
    ["a.js", '{ }\n/"/.test(s); // " words\nb();', "{ }\n/\nb();"],
    ["a.js", "let of = 4, m = of / 2; /*\n words\n*/ b();", "let of = 4, m = of / 2\n\n"],
    ["a.js", "m = i++ / 2; /*\n words\n*/ b();", "m = i++ / 2\n\n"],
    ["a.js", "m = a.in / 2; /*\n words\n*/ b();", "m = a.in / 2\n\n"],
    ["a.js", "m = (a + b) / 2; // half\nn = f(x) / g / 3; /* c */ h();", "m = (a + b) / 2;\nn = f(x) / g / 3; h();"],
    ["a.js", "if (a) /x`/.test(s);\nwords ` words", "if (a) /x\n"],
    ["a.js", "if ((a + b) / 2 > c / d) e(); // no", "if ((a + b) / 2 > c / d) e();"],
    ["a.cpp", 'auto s = R"x( " )" words\nwords )x"; f();', 'auto s = R"x( \n )x"; f();'],
    [
      "a.c",
      "int a; // words \\\nmore words\nint b;\n#if 0\nwords\n#if X\n#endif\n#endif\nint c;",
      "int a;\n\nint b;\n\n\n\n\n\nint c;",
    ],
    ["a.rb", "x = <<~A + <<-'B'\n  words\n  A\nmore\nB\ny = %q(words) # no", "x = <<~A + <<-' '\n\n A\n\nB\ny = %q( )"],
    ["a.rb", "f\n__END__\nwords", "f\n\n"],
    ["a.rs", 'let s = r##"a "# words"##; f();', 'let s = r##" "##; f();'],
    ["a.swift", 'let s = #"a " words"#; f()', 'let s = #" "#; f()'],
    ["a.sh", "cat <<EOF\nwords\nEOF\nls", "cat <<EOF\n\nEOF\nls"],
    ["a.php", "$a = <<<X\nwords\nX;\nf();", "$a = <<<X\n\nX;\nf();"],
    ["a.pl", "f;\n=pod\n\nwords\n\n=cut\ng q{words};", "f;\n\n\n\n\n\ng q{ };"],
    ["a.lua", "x = [==[ ]] words ]==]", "x = [==[ ]==]"],
    ["a.sql", "do $x$ words $x$; select 1;", "do $x$ $x$; select 1;"],
    ["a.json", '{"a": "words"}', '{" ": " "}'],
  ])("removes the words from %s: %j", (path, text, wanted) => {
    expect(bare(path, text)).toBe(squeezed(wanted));
  });

  it("keeps texts in quotes when only comments are removed", () => {
    expect(code("a.js", 'say("hello"); // no')).toBe('say("hello");');
    expect(code("a.py", '"""doc"""\nsay("hello")')).toBe('\nsay("hello")');
  });

  it("recognises prose", () => {
    expect(stripWords("README.md", "# a\nb")).toEqual({
      code: "   \n ",
      bare: "   \n ",
      prose: true,
      known: true,
      leftover: [],
    });
    expect(stripWords("main.weird", "x")).toEqual({ code: " ", bare: " ", prose: true, known: false, leftover: [] });
    expect(stripWords("main", "x")).toMatchObject({ prose: true, known: false });
  });

  it("keeps every line and column, for any text", () => {
    const piece = fc.constantFrom(
      "'",
      '"',
      "`",
      "/",
      "*",
      "//",
      "/*",
      "*/",
      "${",
      "}",
      "\\",
      "\n",
      "#",
      "a",
      " ",
      "<!--",
      "<",
      ">",
      "'''",
      "--[[",
      "<<A",
      "A\n",
      'R"(',
      "(",
      ")",
      "if ",
    );
    const text = fc.array(piece, { maxLength: 60 }).map((parts) => parts.join(""));
    fc.assert(
      fc.property(
        text,
        fc.constantFrom("a.js", "a.py", "a.c", "a.html", "a.lua", "a.rs", "a.sql", "a.cs", "a.rb", "a.pl", "a.cpp"),
        (given, path) => {
          for (const out of Object.values(stripWords(path, given)).filter((one) => typeof one === "string")) {
            expect(out.length).toBe(given.length);
            for (const [index, char] of [...out].entries()) if (char !== " ") expect(char).toBe([...given][index]);
          }
        },
      ),
    );
  });
});
