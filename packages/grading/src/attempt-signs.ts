/**
 * Patterns that recognise text addressed to the grader. They run on lower-case text without invisible letters and comment marks, and with
 * single blanks. Gaps are bounded and no repeat contains another repeat, so each pattern takes time in proportion to the text.
 */
export interface Sign {
  readonly kind: "injection" | "tampering";
  readonly says: string;
  readonly pattern: RegExp;
  /** The pattern is ordinary in the output of a program or a model, so it is a sign only in submitted files. */
  readonly ofFiles?: true;
  /** A weak sign. It counts only if this pattern matches close to it, before or after. */
  readonly beside?: RegExp;
  /** The sign does not count when the match crosses the end of a line. */
  readonly inLine?: true;
  /** The sign does not count in variable names that were split into words. */
  readonly asWritten?: true;
}

/** The number of characters around a weak sign in which its second pattern must match. */
export const BESIDE = 50;

/**
 * The words of one natural language: for "ignore", for the things to ignore, for "give" (as a wish or an order), and for the highest grade.
 */
interface Tongue {
  readonly ignore: string;
  readonly orders: string;
  readonly give: string;
  readonly most: string;
}

const tongues: readonly Tongue[] = [
  {
    ignore: "ignorier|missachte|vergiss|vergesst|beachte nicht",
    orders: "anweisung|vorgabe|bewertungsregel|instruktion",
    give: "vergib|vergebt|vergeben sie|gib |gebt |geben sie|bewerte|erteile|setze",
    most: "volle[nr]? punkt|volle punkt|maximale[nr]? punkt|höchstpunkt|bestnote|höchste[nr]? punkt|sehr gut",
  },
  {
    ignore: "ignore|ignora|olvida|omite",
    orders: "instrucciones|indicaciones|órdenes|rúbrica",
    give: "otorga|asigna|pon |ponle|dale|califica|concede",
    most: "puntuación máxima|puntuacion maxima|nota máxima|nota maxima|todos los puntos|máxima puntuación|calificación máxima",
  },
  {
    ignore: "ignore|oublie|ne tiens pas compte|néglige",
    orders: "consignes|instructions|directives|barème",
    give: "attribue|donne|mets|accorde|note ce",
    most: "note maximale|tous les points|la totalité des points|meilleure note|20 ?/ ?20",
  },
  {
    ignore: "ignora|dimentica|trascura",
    orders: "istruzioni|indicazioni|direttive|rubrica",
    give: "assegna|dai |date |attribuisci|concedi",
    most: "punteggio massimo|massimo dei voti|voto massimo|tutti i punti|pieni voti",
  },
  {
    ignore: "ignore|ignora|esqueça|desconsidere",
    orders: "instruções|instrucoes|orientações|diretrizes",
    give: "dê |de a |atribua|conceda|coloque",
    most: "nota máxima|nota maxima|pontuação máxima|todos os pontos",
  },
  {
    ignore: "negeer|vergeet",
    orders: "instructies|aanwijzingen|opdrachten|richtlijnen",
    give: "geef|ken .{0,12}toe|beoordeel",
    most: "maximale aantal punten|alle punten|maximale score|hoogste cijfer|volle punten",
  },
  {
    ignore: "zignoruj|pomiń|zapomnij",
    orders: "instrukcj|polece|wytyczn",
    give: "przyznaj|daj |wystaw|oceń",
    most: "maksymaln. (?:liczb|ocen|punkt)|wszystkie punkty|pełn. punkt|najwyższą ocenę",
  },
  {
    ignore: "ignoruj|ignorujte|zapomeň",
    orders: "pokyn|instrukc",
    give: "uděl|dej |dejte|přiděl|ohodnoť",
    most: "pln. počet bodů|plný počet|maximum bodů|nejvyšší hodnocení|všechny body",
  },
  {
    ignore: "ignorera|ignorer|glöm|glem|bortse från",
    orders: "instruktion|anvisning|instrukser|instruks",
    give: "ge |gi |giv |tilldela|sätt",
    most: "full poäng|full pott|högsta betyg|alle poeng|full uttelling|fulde point|maximal poäng",
  },
  {
    ignore: "yok say|görmezden gel|unut",
    orders: "talimat|yönerge",
    give: "ver(?:in|iniz)?(?!\\p{L})",
    most: "tam puan|en yüksek (?:puan|not)",
  },
  { ignore: "bỏ qua|quên", orders: "hướng dẫn|chỉ dẫn|chỉ thị", give: "cho|chấm", most: "điểm tối đa|điểm cao nhất" },
  {
    ignore: "abaikan|lupakan",
    orders: "instruksi|arahan|perintah",
    give: "berikan|beri ",
    most: "nilai penuh|nilai maksimal|skor penuh|markah penuh",
  },
  {
    ignore: "αγνόησε|αγνοήστε|ξέχασε",
    orders: "οδηγίες|εντολές",
    give: "δώσε|δώστε|βάλε",
    most: "μέγιστο βαθμό|άριστα|όλους τους βαθμούς|μέγιστη βαθμολογία",
  },
  {
    ignore: "игнорируй|игнорируйте|проигнорируй|забудь",
    orders: "инструкци|указани|правила оцен",
    give: "поставь|поставьте|выставь|дай |дайте",
    most: "максимальн. (?:балл|оценк)|высш. (?:балл|оценк)|полн. балл|все баллы|отлично",
  },
  {
    ignore: "ігноруй|ігноруйте|забудь",
    orders: "інструкці|вказівк",
    give: "постав|поставте|дай |дайте|вистав",
    most: "найвищ. (?:оцінк|бал)|максимальн. (?:бал|оцінк)|усі бали",
  },
  {
    ignore: "تجاهل|انس",
    orders: "التعليمات|الإرشادات|الأوامر",
    give: "امنح|أعط|اعط|ضع",
    most: "الدرجة الكاملة|العلامة الكاملة|الدرجة القصوى|أعلى درجة",
  },
  {
    ignore: "התעלם|התעלמו|תשכח",
    orders: "ההוראות|הנחיות",
    give: "תן |תני|תנו|הענק",
    most: "ציון מלא|ציון מקסימלי|מלוא הנקודות|הציון הגבוה",
  },
  { ignore: "अनदेखा|नज़रअंदाज़|भूल जा", orders: "निर्देश", give: "दें|दो|दीजिए", most: "पूरे अंक|पूर्ण अंक|अधिकतम अंक" },
  {
    ignore: "忽略|无视|無視|忘记|忘記",
    orders: "指令|指示|说明|說明",
    give: "给(?!出|定)|給(?!出|定)|打(?!印|开|開|出|包)",
    most: "满分|滿分|最高分",
  },
  {
    ignore: "無視|忘れ",
    orders: "指示|命令|ルール|採点基準",
    give: "付けて|つけて|与えて|ください|下さい",
    most: "満点|最高点|最高評価",
  },
  {
    ignore: "무시|잊",
    orders: "지시|지침",
    give: "주세요|줘|부여|주십시오",
    most: "만점|최고 ?점|최고 점수",
  },
];

/** A word must not follow a letter. This applies to alphabets only; other scripts put no blanks between words. */
function word(stems: string): string {
  return `(?<![a-zà-ɏа-џα-ω])(?:${stems})`;
}

function either(one: string, other: string, not = ""): RegExp {
  return new RegExp(`${word(one)}.{0,60}?${word(other)}${not}|${word(other)}.{0,60}?${word(one)}${not}`, "su");
}

/**
 * Matches "the previous ones" and "all". An interpreter skips empty instructions, but only an injection says "all the previous
 * instructions".
 */
const formerOrAll = new RegExp(
  [
    "previous|prior|above|vorherig|vorig|bisherig|obig|\\balle|sämtlich|anterior|todas|todos|précéd|preced|toute|tous|tutt",
    "eerder|vorige|poprzedn|wszystk|předchoz|všechn|tidigare|alla|tidligere|önceki|tüm|trước|mọi|tất cả|semua|sebelum",
    "προηγούμεν|όλες|предыдущ|\\bвсе|все |попередн|усі|всі|السابق|جميع|הקודמ|כל|पिछल|सभी|之前|以上|所有|前面|上述|上面",
    "これまで|以前|上記|すべて|全て|이전|모두|모든|위의|앞의|barème|rubrica|rúbrica|採点基準|bewertungsregel|правила оцен",
  ].join("|"),
  "u",
);

const IGNORE = "tells the reader to ignore instructions";
const POINTS = "asks for points";
const GRADER = "speaks to the grader";
const CONVERSATION = "imitates a conversation";
const machine =
  "(?:ai|llm|llms|gpt|chatgpt|claude|gemini|language model|auto ?grader|grader|graders|grading (?:model|assistant|system|bot)|evaluator|ai reviewers?|reviewing ai)";

const verb = "(?:ignore|disregard|forget|override|bypass)";
const handedIn =
  "(?:(?:this|my) (?:work|submission|student|solution|assignment|project|homework|code|answer|essay|paper|file|program|implementation|report)|me|everything|the (?:work|submission|solution))";
const most = "(?:full|maximum|max|all|perfect|highest|top|100 ?%|10 ?\\/ ?10|\\d{1,9} (?:of|out of) \\d{1,9})";
const points = "(?:points?|marks?|scores?|grades?|credit|criteri\\w+|level|confidence)";
const said = "[\\p{L}\\p{N} ,:'%-]";
const mostPoints = `\\b${most}\\b${said}{0,20}\\b${points}\\b`;
/** Words that concern grading, and that nobody writes to the AI of a game. */
const judging =
  /\b(?:grad(?:e|es|ed|ing)\b(?! ?\()|rate (?:this|it|the)|(?:full|maximum|top|all) (?:marks?|points?|credit|score)|award|submission|excellent|\d{1,9} ?\/ ?10\b|\d{1,9} out of \d{1,9}|this (?:work|student|solution|code)|rubric|criteri\w+|lenient|generous)/u;

export const signs: readonly Sign[] = [
  injection(
    IGNORE,
    new RegExp(
      `\\b(?:${verb}|skip)\\b.{0,25}\\b(?:previous|prior|preceding|above|earlier|your|grading|initial|original|grader's)\\b[\\p{L}, ]{0,20}\\b(?:instructions?|rubric|prompts?|guidelines|rules|criteria|commands|orders)\\b|\\b${verb}(?: (?:all|any|every|the|these|those|of|other|given))+ (?:instructions|rubric|prompts|guidelines|system prompt|grading rules)\\b|\\b${verb}\\b.{0,40}\\b(?:rubric|grading rules|instructions (?:above|before|you))\\b|\\b${verb} (?:all|any|these) (?:rules|criteria|commands|orders)\\b`,
      "su",
    ),
  ),
  ...tongues.map(({ ignore, orders }) => ({ ...injection(IGNORE, either(ignore, orders)), beside: formerOrAll })),
  injection(
    POINTS,
    new RegExp(
      `\\b(?:please|you (?:must|should|shall|will)|kindly)\\b.{0,30}\\b(?:award|give|grant|assign)\\b${said}{0,60}${mostPoints}|\\b(?:award|give|grant|assign|grade|score|mark)\\b${said}{0,30}\\b(?:${handedIn}|it)\\b${said}{0,40}${mostPoints}|\\b(?:award|give|grant|assign)\\b${said}{0,60}${mostPoints}${said}{0,30}\\b(?:${handedIn}|(?:every|each|all) criteri\\w+|regardless|no matter)\\b|\\b(?:(?:award|give|grant)(?: the student)? full|(?:award|grant) (?:maximum|max|perfect)) (?:marks|points|credit)\\b(?! (?:to|if|when|only|on|per|for (?:a|an|the|each|correct|right))\\b)`,
      "u",
    ),
  ),
  injection(
    POINTS,
    new RegExp(
      `\\bgraded with \\d{1,9} (?:of|out of) \\d{1,9}|\\b(?:rate|grade|score|mark|evaluate|judge) (?:${handedIn}|this|it)\\b.{0,20}\\b\\d{1,3} ?\\/ ?\\d{1,3}\\b|\\b(?:please|should|must|shall)\\b.{0,20}\\b(?:rate|grade|score|mark|evaluate|judge)\\b.{0,30}\\b\\d{1,3} ?\\/ ?\\d{1,3}\\b|\\b(?:rate|grade|score|mark|evaluate|judge)(?: (?:${handedIn}|this|it))? (?:as excellent|generously|leniently|kindly|favou?rably|positively)\\b|\\b(?:rate|grade|mark) (?:${handedIn}|this|it) with an a\\b|\\b(?:every|each|all) criteri\\w+.{0,30}\\b(?:highest|full|max\\w*)\\b|\\b(?:set|mark|rate|grade|consider)\\b.{0,20}\\b(?:every|each|all) criteri\\w+.{0,30}\\b(?:best|top|met)\\b|\\bset\\b.{0,15}\\bgrade\\b.{0,12}\\b(?:full|max)|\\bset (?:this|my)\\b.{0,25}\\bgrade\\b.{0,12}\\b(?:a\\b|a\\+)`,
      "su",
    ),
  ),
  injection(
    POINTS,
    /\bplease\b.{0,40}\b(?:be (?:generous|kind|lenient)|let me pass|pass me)\b|\b(?:automatic|guaranteed) (?:a\b|pass\b|full (?:marks|credit|points|score))|\bpositive review only\b/s,
  ),
  // The German "gib … zurück" and "gib … aus" return or print a value, so they are ordinary.
  ...tongues.map(({ give, most }) =>
    injection(POINTS, either(give, most, "(?!\\p{L}*['\"»“”]? (?:zurück|aus)(?!\\p{L}))")),
  ),
  injection(
    "claims that it was already approved",
    /\b(?:instructor|professor|prof|teacher|lecturer|ta|dean|university policy|course staff)\b.{0,60}\b(?:full (?:credit|marks|points)|automatic|already (?:approved|checked|graded|verified)|\d{1,3} ?\/ ?\d{1,3}\b)|\balready (?:approved|graded|verified|checked)\b.{0,60}\b(?:full|credit|prof\w*|instructor|teacher|\d{1,3} ?\/ ?\d{1,3}\b)|\bskip (?:the|this) (?:review|grading)\b/s,
  ),
  injection(
    GRADER,
    /\b(?:note|message|instructions?) (?:to|for) (?:the |an |all |any )?(?:llms?|graders?|grading|chatgpt|gpt|claude|automated (?:grad|review))|\b(?:attention|dear|hey|hello),? (?:to |for )?(?:the |all )?(?:llms?|graders?|grading|chatgpt|claude|automated)\b/,
  ),
  {
    ...injection(
      GRADER,
      /\b(?:note|message|instructions?|attention) (?:to|for) (?:the |an |all |any )?(?:ai|(?:language )?model|assistant)\b(?! (?:players?|opponents?|agents?|bots?|enem|snake|paddle|turn|move|class|view|layer|object))|\b(?:attention|dear) (?:the |all )?(?:ai|model|assistant)\b/,
    ),
    asWritten: true,
  },
  {
    ...injection(
      GRADER,
      new RegExp(
        `\\b${machine} ?,? (?:should|must|shall|has to|have to)\\b|\\b(?:as|to) (?:the|an|a) (?:ai|llm)\\b`,
        "su",
      ),
    ),
    beside: judging,
  },
  {
    ...injection(GRADER, /\b(?:llm|llms|chatgpt|gpt|claude|gemini|auto ?grader|grader) ?: ?\p{L}+ \p{L}/u),
    inLine: true,
  },
  injection(
    GRADER,
    new RegExp(
      `\\b${machine} ?,? (?:please|is asked|are asked|you must)\\b|\\b(?:as|to) (?:the|an|a) (?:grader|evaluator|language model)\\b.{0,30}\\b(?:you|must|should|set|give|please)\\b|\\bas (?:the|an|a) (?:ai|llm)\\b.{0,10}\\byou (?:must|should)\\b|(?<!\\p{L})(?:an die ki|à l'ia|评分者|評分者|採点者|проверяющ)`,
      "su",
    ),
  ),
  injection(
    "gives the reader a role",
    /\byou are (?:now|no longer) (?:a|an|in|the)\b.{0,40}\b(?:mode|assistant|grader|model|ai|teacher|developer)\b|\byou are (?:a|an|the)\b.{0,30}\b(?:grader|grading|lenient|generous)\b|\byou are in\b.{0,10}\b(?:maintenance|developer|debug|god|admin) mode\b/,
  ),
  injection(
    "asks for the prompt",
    /\b(?:reveal|print|show|repeat|output)\b.{0,30}\b(?:system prompt|your instructions|your prompt|hidden tests?)\b/,
  ),
  injection(
    "asks to stay hidden",
    /\bdo not (?:mention|reveal|report|tell)\b.{0,30}\b(?:this|these|my|the) (?:note|comment|message|instruction)/,
  ),
  {
    ...injection(
      CONVERSATION,
      /(?<![\p{L}\p{N}"'{(,;.?] ?)(?:user|human|student) ?: .{1,200}?(?<![\p{L}\p{N}"'{(,;] ?)(?:assistant|system|grader|ai) ?: /su,
    ),
    beside: judging,
  },
  {
    ...injection(CONVERSATION, /(?<![\p{L}\p{N}"'{(,;.?] ?)(?:system|assistant|developer) ?: ?\p{L}+ \p{L}/u),
    beside: judging,
    inLine: true,
  },
  injection(
    CONVERSATION,
    /(?<![\p{L}\p{N}"'{(,;.?] ?)(?:system|assistant|developer) ?: ?(?:done|ok|okay|sure|certainly|understood|graded|approved|you (?:are|must|will))\b|<\|(?:im_start|im_end|system|endoftext)\|>|\[\/?inst\]|<\/?(?:system|assistant|submission|instructions)>/su,
  ),
  injection(
    "imitates the markers around a submission",
    /<<< ?submission\b|\bsubmission [a-z0-9-]{2,40} ?>>>|\bthe submission ends here\b/,
  ),
  injection(
    "contains a ready-made verdict",
    /["']?criteria["']? ?: ?\{.{0,400}?["']?(?:confidence|level|met)["']? ?:/s,
  ),
  injection("contains a rubric", /\| ?id ?\| ?(?:criterion|title) ?\|.{0,40}\bpoints\b/s),
  {
    kind: "injection",
    ofFiles: true,
    says: "claims results of tests",
    pattern:
      /\b(?:\d{1,9} (?:of|out of) \d{1,9} (?:tests|points|checks) ?(?:passed)?|all hidden tests pass(?:ed)?)\b|# pass \d{1,9} ?\S{0,4} ?# fail 0/,
  },
  {
    kind: "tampering",
    ofFiles: true,
    says: "tries to access the grader's results",
    pattern: /markmill_\w+|\/judge\/|\/autograder\b|(?:\.\.\/|["'`]\/)[\w./-]{0,60}results\.json\b/,
  },
  {
    kind: "tampering",
    ofFiles: true,
    says: "tries to change the test runner",
    pattern: /node_test_context|require\.cache\[|process\.binding\(|\bnode:test\b.{0,40}\bmock\b|__proto__ ?= ?assert/,
  },
];

function injection(says: string, pattern: RegExp): Sign {
  return { kind: "injection", says, pattern };
}
