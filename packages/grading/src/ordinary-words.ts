/**
 * Lists words that are ordinary in programs, tasks and rubrics. A roster entry with such a spelling identifies nobody. One student may
 * choose a handle such as `function`, and the submissions of all others must not change because of it (scrub.ts).
 *
 * Matching ignores case and accents. The lists are closed: a word that is missing here is scrubbed, which protects the person.
 */

const listed = (text: string): ReadonlySet<string> => new Set(text.trim().split(/\s+/));

/** Keywords, literals, types and standard names of the languages that students write. */
const programWords = listed(`
abs abstract accept accumulate action add after algorithm alias align alignas alignof all alloc allocate alter always analyze anchor and angle animate
annotation anonymous any api app append apply args argument arguments argv arr array arraylist arrays as asc ascii asin asm assert assertion
assign associate async atan atomic attr attribute attributes audio auto available average await axis back background backward base
base64 bash basic batch begin begins between bigint bin binary bind bit bits bitset blank block blob body bold bool boolean boot border
bottom bounds box branch break breakpoint bubble bucket buffer build builder built bundle button byte bytearray bytes cache calc
calculate calendar call callable callback callee caller cancel canvas capacity caption capture card case cast catch ceil cell center
chain change channel char character characters chars check checked child children choice chunk circle class classes classmethod
classname clause clean clear click client clip clock clone close closed closure cls cluster code codec collect collection collections
color column columns combine comma command commands comment comments commit common compare comparable comparator compile compiler
complete complex component compose compute concat concrete cond condition config configure confirm connect connection console const
constant constants constexpr constraint construct constructor consume container contains content contents context continue contract control convert
coord coordinate copy core cos count counter cpp create createelement cross csv current cursor curve custom cut cuts cycle data
database dataclass dataframe dataset date datetime day debug dec decimal declare decode decorator deep def default defaultdict defer define defined
definition degree del delay delegate delete delta depth deque derive derived desc describe description design dest destination destroy
detail dev device diagram dialog dict dictionary diff difference digit digits dim dimension dir direct direction directory disable
disabled dispatch display dispose distance distinct div divide division do doc docs document dog done dot double down download drag draw
driver drop dtype dump duplicate duration dynamic each early echo edge edges edit editor effect elem element elements elif
else elseif elsif emit empty enable enabled encode encoder encoding end ended endif endl endpoint ends endswith engine ensure enter entity
entries entry enum enumerate env environment epoch epsilon equal equals error errors escape eval evaluate even event events every exact
except exception exceptions exchange exclude exec execute executor exist exists exit exp expand expect expected explicit exponent export
express expression extend extends extension extern external extract factor factorial factory fail failed failure fallback false fetch
fibonacci field fields file filename files fill filter final finalize finally find finish finite first fixed fizzbuzz flag flags flat
flatten flex float floats floor flow flush fmt focus fold folder follow font foo foobar footer for foreach foreign fork form
format formatted formatter formula forward frame framework free freeze frequency friend from front frozen frozenset fs full func function
functional functions fun future game gap gcd general generate generator generic get getattr getchar getelementbyid getitem getline getmax getmin getname getter
getvalue given glob global globals go goto gradient grammar grant graph graphics greater greedy green grid group groupby groups grow guard gui
handle handled handler hash hashcode hashmap hashset hashtable head header headers heap heapq height hello help helper hex hidden high
highlight hint history home hook host hour hover href html http https hue hundred icon id identifier identity if iff ignore
image images img immutable impl implement implementation implements implicit import in inch include includes increment indent index indexed
indexof indices inf infinite infinity info inherit init initial initialize inline inner input inputs insert inside inspect install instance
instanceof instances int integer integers interface internal interrupt intersect intersection interval into invalid inverse invert invoke io is
isalpha isdigit isempty isinstance islower isnan isupper italic item items iter iterable iterate iteration iterator java javascript job join
json jump junit just kernel key keydown keyerror keyof keyup keyword keywords kill kind kotlin label labels lambda language large
largest last lastindexof late latin layer layout lazy lcm leaf learn least left leftmost len length less let letter letters
level lexer lib library lifetime lifo light like limit limits line linear lines link linked linkedlist links lint list listdir listener lists
literal literals load loaded loader loading local locale locals location lock log logger logic logical login long look lookup loop loops
lower lowercase lst lua machine macro main make malloc manager map mapper mapping maps margin mark marker markup mask master match
matcher matches math matrix max maximum maxint mean mechanism media median medium member members memory memo memoize menu merge mergesort message
messages meta metadata method methods metric mid middle millis min mini minimum minus minute missing mixed mixin mobile mod modal mode
model models modern modify module modules modulo modulus month more most mount mouse move movement multi multiple multiply music mut mutable
mutex name named names namespace nan native natural navigate negate negative neighbor neighbors nested net network never new newline next nil no node
nodes none nonlocal noop normal normalize not notation note nothing notify noun null nullable nullptr num number numbers numeral numerals numeric
numpy nums obj object objects observer occur odd of off offset ok old on once one only opacity open operand operation operations operator
operators option optional options or order ordered ordering orders ordinal origin original other others otherwise out outer output outputs
outside over overflow overlap overload override owned owner pack package packages packet pad padding page pages pair pairs palette palindrome pandas panel panic parallel
param parameter parameters params parent parse parser parseint part partial particle partition parts pass passed password paste patch
path paths pattern pause peek percent perform period permutation permutations person pick piece pipe pivot pixel place plain plan plane player
plot plugin plus point pointer pointers points poll poly polygon pool pop port position positive post power pow pre precision
predicate predict prefix prepare preorder press prev previous prime primes print printf println printer priority private probability problem proc
procedure process processor produce producer product program programs progress project prompt promise proof prop properties property props
protected protocol prototype provide provider proxy public publish pull punctuation pure push put puts putchar python quad quality quantity query question queue
queues quick quicksort quit quote quotes quotient race radius raise random range rank rate ratio raw react read readable reader readfile
readline readlines readonly ready real realloc rec receive record recover rectangle recursion recursive red redo reduce reducer redux ref reference
references reflect refresh regex register registry reject relation relative release reload remainder remove removed rename render repeat repeated replace
reply report repository request requests require required requires reset resize resolve resource response rest restart restore restrict result results
resume retain rethrow retry return returned returns reverse reversed rgb right role roll roman romans room root rotate round rounded route router routes
row rows rule rules run runnable runner running runtime rust safe same sample samples sandbox save saved scale scan scanf scanner scene
schedule scheduler schema scope score scores screen script scroll sealed search second seconds section seek segment select selected
selector self semaphore send sensor sentence separator sequence sequences serial serialize series server service session set setattr
setitem setstate setter setters setting settings settimeout setup shadow shape share shared sheet shell shift short shortest show shuffle side
sign signal signature signed similar simple sin single singleton size sizeof skip slash sleep slice slide slot slow small smaller smallest snake snapshot socket solution
solutions solve solver some sort sorted sorter sorting sound source sources space spaces span spawn special specific speed spell split spread
sprite sql sqrt square squared squares src stack stacks stage standard start started starter starts startswith state statement statements static staticmethod
station statistics stats status std stdin stderr stdio stdlib stdout step steps stmt stop storage store str stream strftime strict
string stringbuilder strings strip strlen strong struct structure student students style styles sub subclass submit subset substr substring
subtract success successor sudo suffix suite sum summary super superclass supplier support suppress swap swift switch symbol symbols sync synchronized
syntax sys system table tables tag tags tail take target targets task tasks template temp temperature temporary term terminal ternary test tests testcase
tester testing text textarea than that then theme this thread threads three threshold throw throws tick time timeout timer times timestamp
tip title tmp to today todo toggle token tokenize tokens tolist tolower top topic tostring total totals touch toupper trace track trait transaction
transfer transform transient transition translate transpose traverse tree trees triangle trigger trim true trunc truncate try tuple turn turtle twice two
txt type typedef typeerror typename typeof types typescript typing ui uint undefined underscore undo unicode union unique unit unknown unless
unlock unset unsigned unsorted until unused up update updated upload upper uppercase url usage use used user username users using usr util utils uuid
val valid validate validator value valueerror valueof values var variable variables variant vec vector verb verbose verify version vertex vertical video
view virtual visible visit visited visitor void volatile volume vowel vowels wait walk wall warn warning warnings watch wchar weak weather web week weight
weights when where whether which while white widget width wildcard window with within without word words work worker workflow wrap wrapper
writable write writer written xml xor yaml year yes yield zero zeros zip zone
`);

/** Words in the form that models fill in, in our instructions to them, and in teachers' rubrics. */
const gradingWords = listed(`
accurate accuracy achieved acceptable adequate alone also although answer answered answers appropriate approach approved around asked
assessment assignment assistant attempt author award awarded awards bad basic be beginner behaviour behavior best better bonus both brief by can cannot case
cases certain claim claims clarity clearly cleanly cohesion comes competent completeness completely comply conclusion confidence confident consistent copied copy correct correctly
correctness coupling course coverage credit criteria criterion date deadline decide decides decomposition deduct deduction demonstrates deserves design
documentation documented draft duplication edge efficiency efficient effort elegant english essay evidence evident exam example examples excellent
exemplary exercise expected explain explained explains explanation fair fault feedback few find fine follow follows formatting found give given
gives good grade graded grader grades grading great guess guidance hand handed helpful high higher highest homework how human idea idiomatic improve
improved improvement incomplete incorrect indentation instruction instructions instructor insufficient judge judged judges judgement justified
knowledge lab language later lecturer legible letter level levels limited look looks low lower lowest maintainable major many mark marked marks
mastery maybe means met minor missing mistake mistakes modular name naming need needed needs nonce notes obvious okay original others outstanding paper
partial partially partly penalty people perfect performance plagiarism poor praise praises presentation proficient professor prove proves proposal purpose
quality quotation quotations quote quoted readability readable really reason reasonable reasoning reasons refactor relevant reliable repeat requirement requirements
respect review reviewed reviewer robust robustness rubric safety said satisfactory satisfied say says scale school score score see seen sensible sent
shown simple simplicity solved solves somebody somewhat sound speak spelling stand stands stated strong strength structure structured student style subject
submission submissions submitted sufficient suitable sure taken teacher tell tells terse thing things thorough thoroughly tidy told tone topic true understand
understanding understood unit university unclear unsatisfactory useful valid version very weak weakness well whoever whole why work works works would write
writes writing wrong json object mail email user home text texts model models ai student
`);

/** Frequent English words, and frequent words of German, French, Spanish and Italian tasks. */
const plainWords = listed(`
a able about above across actual actually again against ago air almost along already always am among amount an animal another anybody anyone anything anyway apart appear
apple apples are area arm art at away baby back bad bag ball bank bar bear beat became because become bed been before behind being believe below
beside besides big bike bill bird birthday bit black blue board boat book books born bottle bought bowl boy bread bring brother brought brown bus business busy but buy
cake came camera candy capital car care cards cat catch cats caught cause cent century chair chance cheap cheese child city clean clear clever clothes cloud coat coffee
coin coins cold company cook cool corn corner cost could country couple cousin cover cow crime crowd cry cup customer cute dad dance danger dark daughter days dead deal dear death
decision deep desk did die dinner dirty dish doctor does doesn doing dollar don door doubt dream dress drink drive dry during each ear earth east easy eat
egg eight either eleven else enemy energy enjoy enough equal especially eve evening ever everybody everyone everything evil exactly expensive eye face fact fall family famous fan
far farm fast fat father favorite fear feel feet fell felt fight fire fish five floor flower fly food foot force forest forget forgot forty forward four fox free fresh
friday friends fruit fun funny gave gas getting gift girl glad glass goal god goes going gold golden gone got government grass gray grow guest gun guy had hair half happen happy hard
has hat hate have he hear heart heat heavy held her here hers herself hide hill him himself his hit hobby hold hole holiday hope horse hospital hot hotel hours house however huge
hungry hunt hurry hurt husband ice if important indeed instead island it its itself january jar joke joy judge juice july june keep kept kid kids killed kilo kind king kiss kitchen
knew know known lady lake land laptop lately laugh law lay lazy lead learn leave led left legs lemon lend lesson letter library lie life lion lips listen little live lived
lives living lonely lord lose loss lost lot lots love loved lucky lunch mad made mad man manage march market mat matter may maybe me meal mean meat meet men mice might milk mind mine
minutes mister modern moment monday money monkey moon morning mostly mother mountain mouth movie mr mrs ms much music must my myself natural near nearly neck neither nice night nine nobody
noise nor north nose noon nowhere now object ocean october office often oil older onto orange ought our ours ourselves own park party past pay peace pen pencil perhaps pet phone
photo piano picture pink pizza places planet plant plate play please plenty pocket police pop possible potato pretty price probably proud quarter queen quickly quiet quite rabbit radio rain ran
rather reach rice rich ride ring river road rock rose rough rule sad said salad salt sand sat saturday saw sea season seat secret sell september serious serve seven several shake shall she ship
shirt shoe shoes shop shot should shout shower shut sick silver since sing sir sister sit six sky slept slowly smart smell smile smoke snow so soft soil sold soldier somehow someone something
sometimes son song soon sorry soup south speak spend spoke spoon sport spring staff stair star stay steal steel still stone stood story storm strange street student such
sudden suddenly sugar suit summer sun sunday supper suppose sure surprise sweet swim table talk tall tea teach team tears teeth ten thank thanks the their theirs them themselves there therefore these they
thick thin thing think third thirty those though thought thousand through throughout thursday thus ticket tie tiger till tired together tomato tomorrow tonight too took tool toward town toy train travel treat
trip trouble truck truth tuesday twelve twenty under uncle us usual usually vegetable very village visit voice wake wants war warm was wash water way we wear wednesday went were west wet
what whatever whole whose wide wife wild will win wind wine winner winter wish woman who whom wonder wood world worry worse worst wrote yard yeah yellow yesterday yet you young your yours yourself zoo
der die das den dem des ein eine einen einer eines und oder nicht ist sind wird werden wurde wenn dann sonst mit ohne von vom zum zur auf aus bei nach vor unter durch sich sie wir ihr ich
du er es alle alles auch aber nur noch schon sehr gut besser klar richtig falsch wahr aufgabe abgabe punkt punkte note noten klasse klassen kriterium kriterien wert werte zahl zahlen liste
listen summe schleife funktion funktionen methode feld felder datei dateien zeile zeilen zeichen kette text texte name namen student studenten lehrer schule ergebnis ergebnisse eingabe ausgabe beispiel
le la les un une des et ou est sont pas ne que qui dans pour par sur avec sans plus moins bien bon bonne clair vrai faux classe fonction valeur valeurs nombre nombres liste somme chaine fichier ligne
lignes note notes points exemple entree sortie resultat critere criteres el los las uno unas unos y es son no con sin para por en del al mas menos bien bueno claro verdadero falso clase funcion valor valores numero numeros
lista suma cadena archivo linea lineas nota notas punto puntos ejemplo entrada salida resultado criterio criterios il lo gli uno e sono non con senza per classe funzione valore numero somma stringa riga voto punti esempio
`);

/** Ordinary words that are also names of people. Capitalised and beside another name, they are treated as names. */
const alsoNames = listed(`
abel able amber angel april art ash august basil bear bella bill bob bob carol chance chase christian clay cliff cole colt cook cruz daisy dawn dean dee diamond dot drew duke earl eden eve faith
fern ford forest frank franklin gene ginger glen grace grant gray green guy hazel heath holly hope hunt hunter iris ivy jack jade jasmine jay jean jet jewel john joy judge june king
lake lane leaf lee lily logan lord love major mark marks marsh mason max may melody mercy miles miller mini misty moon nick noble olive page park parks parker pat patience pearl penny piper
pierce price prince quinn rain ray red reed rich rob robin rock rocky rod roman rose ruby rusty sage sandy sky sky sol sonny star stone strong sue summer sun sunny temple terry tony trip tucker van victor violet ward
blessing bright charity comfort destiny favor favour fortune friday genesis gift goodness happy harmony heaven honor honour innocent justice kindness liberty lucky marvelous miracle monday
ocean peace precious princess prosper queen river royal saturday storm success sunday trinity wisdom
wade wall walker west white will winter wood woods young long lang lin ling liu li lu ma mai mo mu na ni niu nu ou pan pang pei ping qi qin ran ren ru rui shan shu si song su sun tan tang tao
tian ting tong tu wan wang wei wen wu xi xia xu yan yang yao ye yi yin ying yong yu yuan yue yun zhen zhi zhou zhu an ai ba bai ban bang bao bi bian bin bing bo bu cai can cao chang chen cheng chi chun cong da dai dan deng
ding dong dou du duan er fan fang fei feng fu gan gang gao ge gong gu guan guang gui guo hai han hang hao he hong hou hu hua huan huang hui huo ji jia jian jiang jiao jie jin jing jiu ju jun kai kang ke kong kun lan lang lao lei
`);

/** Words in scripts that put no blanks between words. */
const unspacedWords = listed(`
函数 变量 数组 返回 学生 老师 作业 评分 分数 满分 标准 输入 输出 数字 字符 字符串 列表 循环 结果 测试 代码 程序 文件 名字 如果 否则 方法 类型 題目 題目 題 数据 关键字
関数 変数 配列 戻り値 先生 課題 採点 点数 入力 出力 文字 文字列 結果 コード プログラム ファイル テスト クラス メソッド リスト 数 整数 함수 변수 학생 점수 입력 출력 결과 코드 배열 문자 문자열 파일 과제 시험
`);

/** Expects a single word in lower case without accents. Words of one or two Latin letters occur in every program. */
export function isOrdinaryWord(word: string): boolean {
  if (/^\d+$/.test(word)) return isOrdinaryNumber(word);
  if (word.length < 3 && /^[a-z]*\d?$/.test(word)) return true;
  return isCodeWord(word) || plainWords.has(word) || unspacedWords.has(word);
}

/** An identifier that consists of ordinary words: `tests`, `node2`, `sorted`, `nextsteps`. */
export function isOrdinaryIdentifier(word: string): boolean {
  const [, letters = word] = /^([a-z]+)\d{1,3}$/.exec(word) ?? [];
  const stems = ["s", "es", "d", "ed", "ing"].flatMap((ending) =>
    letters.length > ending.length + 2 && letters.endsWith(ending) ? [letters.slice(0, -ending.length)] : [],
  );
  return [word, letters, ...stems].some(isOrdinaryWord) || isCompound(letters);
}

/** The identifier consists of two program words. Plain words do not qualify: many family names consist of two of them. */
function isCompound(letters: string): boolean {
  for (let at = 3; at <= Math.min(letters.length - 3, 20); at += 1)
    if (isCodeWord(letters.slice(0, at)) && isCodeWord(letters.slice(at))) return true;
  return isCodeWord(letters);
}

/** Replacing this word where it occurs alone would damage programs, our texts or teachers' texts. */
export function isCodeWord(word: string): boolean {
  return programWords.has(word) || gradingWords.has(word);
}

/**
 * The word is not a program word. If it is capitalised and beside a word that is also a name, it is treated as a name even in code (`Mark
 * Story`).
 */
export function isNameLike(word: string): boolean {
  return alsoNames.has(word) || (word.length > 2 && !isCodeWord(word));
}

export function isAlsoName(word: string): boolean {
  return alsoNames.has(word);
}

/** Constants that occur in programs: round numbers, powers of two and their neighbours, repeated or counting digits, years, clock times. */
function isOrdinaryNumber(digits: string): boolean {
  if (digits.startsWith("0")) return false;
  if (digits.length < 4 || /000$/.test(digits) || /^(\d)\1*$/.test(digits)) return true;
  if ("01234567890123456789".includes(digits) || "98765432109876543210".includes(digits)) return true;
  if (digits.length === 4 && /^(?:1\d|20)/.test(digits)) return true;
  if (["86400", "86399", "31536", "31536000", "44100", "22050", "31415", "314159", "3141592", "27182"].includes(digits))
    return true;
  if (["1000000007", "998244353", "16777619", "2166136261", "6700417", "142857"].includes(digits)) return true;
  if (digits.length > 16) return false;
  const value = Number(digits);
  return [value - 1, value, value + 1].some((near) => near > 0 && Number.isInteger(Math.log2(near)));
}
