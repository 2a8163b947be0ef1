import type { RubricFindingCode } from "@markmill/grading";
import type { CodeEntry, FindingCode } from "../../finding-codes.ts";
import type { Report } from "../../report.ts";

export const workflowCodes = {
  FILE_EMPTY: {
    means: "The file is empty.",
    fix: "Write a title, a section # Workflow with a flowchart, and # Prompts.",
  },
  FRONT_MATTER_OPEN: {
    means: "The front matter is never closed.",
    fix: "Close it with a line ---, or remove the first line.",
  },
  FRONT_MATTER_TOO_LARGE: { means: "The front matter is too long.", fix: "Move long texts into the Prompts section." },
  FRONT_MATTER_YAML: {
    means: "The front matter is not valid YAML, or gives a key twice.",
    fix: "Indent with spaces, and quote values that hold a colon.",
  },
  FRONT_MATTER_KEY: {
    means: "The front matter holds a setting that does not exist.",
    fix: "Correct its name; the finding lists those that exist there.",
  },
  FRONT_MATTER_VALUE: {
    means: "A setting of the front matter has a value of the wrong kind.",
    fix: "Give it a value of the expected kind, or remove it.",
  },
  INCLUDE_OUTSIDE: {
    means: "An included file lies outside the workflow folder.",
    fix: "Copy it into the folder and include it from there.",
  },
  INCLUDE_PROTECTED: {
    means: "A dot-file, a key file or a file of Markmill's own folder is included; no workflow reads these.",
    fix: "Copy what is needed into a file with an ordinary name, without any secret.",
  },
  INCLUDE_MISSING: { means: "An included file does not exist.", fix: "Correct the path, or add the file." },
  INCLUDE_CYCLE: { means: "A file includes itself, directly or through others.", fix: "Remove one of these includes." },
  INCLUDE_DEPTH: {
    means: "Includes are nested deeper than 20 files.",
    fix: "Include the inner files from fewer levels.",
  },
  INCLUDE_OPEN_FENCE: {
    means: "A code block in an included file is never closed; the text after the include is read as if it were.",
    fix: "Close the block.",
  },
  INCLUDE_TOO_LARGE: {
    means: "With its includes the workflow is too long.",
    fix: "Include each file once, or split the workflow with CALL.",
  },
  NO_FLOWCHART: {
    means: "There is no section # Workflow, or no mermaid flowchart in it.",
    fix: "Add # Workflow and below it a mermaid block that begins with flowchart TD.",
  },
  PROMPT_CUT: {
    means: "A heading ends a prompt, and the text after it belongs to no prompt.",
    fix: "Use ### in prompts, put the line in a code fence, or move the section before # Prompts.",
  },
  PROMPT_DUPLICATE: {
    means: "A prompt is written twice; the later one counts.",
    fix: "Give one of them another name.",
  },
  PROMPT_SCHEMA: {
    means: "The schema that a PROMPT names is missing, or is no JSON Schema that can be checked.",
    fix: "Write it as a json block below ## NAME in a section # Schemas, or name a file: with it.",
  },
  PROMPT_EMPTY: { means: "A prompt has no text.", fix: "Write the text below its heading." },
  PROMPT_LARGE: {
    means: "A prompt is so long that few models accept it.",
    fix: "Hand long material to the run as a file and name it with file:.",
  },
  PROMPT_UNKNOWN: {
    means: "A PROMPT names neither a prompt nor a variable. An error where the name looks like a prompt's.",
    fix: "Write the section, or quote a text that is meant literally.",
  },
  FENCE_OPEN: {
    means: "A code block is never closed, so that everything after it belongs to it.",
    fix: "Close it with a line of the same marks.",
  },
  PLACE_FILE: {
    means: "{{file:…}} is not filled: a place takes a name, not a file.",
    fix: "Load the file with a SET node and write the variable's name.",
  },
  GRADE_TASK_FILE: {
    means: "The task of a GRADE is read from a file that does not stand beside the workflow.",
    fix: "Add the file; a task never comes with the submission.",
  },
  ASSIGN_LITERAL: {
    means: "An ASSIGN names neither a prompt nor a variable, so RESULT becomes its very text.",
    fix: "Quote the text if that is meant.",
  },
  VARIABLE_UNKNOWN: {
    means: "A name is used that nothing sets.",
    fix: "Declare it in PARAMS, or set it with a SET node.",
  },
  AGENT_UNKNOWN: {
    means: "An agent is not declared in the front matter.",
    fix: "Declare it under agents, or name one that is.",
  },
  KIND_UNKNOWN: {
    means: "A node's id does not begin with a kind of activity.",
    fix: "Begin it with START, SET_, ASSIGN_, CHECK_, PROMPT_, ASK_, EXECUTE_, CALL_, SUCCESS, FAILED or ON_.",
  },
  START_TWICE: { means: "There are two starts.", fix: "Keep one of them." },
  NO_START: { means: "The flowchart has no START.", fix: "Add START --> and the first activity." },
  HANDLER_UNKNOWN: { means: "An ON node names no event.", fix: "Handlers are ON_SUCCESS and ON_FAILED." },
  HANDLER_SPELLING: { means: "ON_SUCCES is read as ON_SUCCESS.", fix: "Write ON_SUCCESS." },
  HANDLER_TWICE: { means: "There are two handlers of one event.", fix: "Keep one of them." },
  HEADING_NEAR_MISS: {
    means: "A line looks like the heading of a section or a prompt, and is none.",
    fix: "Write it as the finding says: # Workflow, # Prompts, ## User Name.",
  },
  NAME_INVISIBLE: {
    means: "A name holds a no-break space or another character that cannot be seen, so that it matches no other.",
    fix: "Type the name again, with plain spaces.",
  },
  CAPTION_MISSING: { means: "A node does not say what to do.", fix: "Give it a caption." },
  CAPTION_PREFIX: {
    means: "A caption does not begin with the word of its kind, or begins with that of another.",
    fix: "Begin it with the kind and a colon, such as Prompt:.",
  },
  CAPTION_QUOTES: {
    means: "A caption in double quotes holds double quotes.",
    fix: "Write #quot; for a double quote inside it.",
  },
  EXECUTE_LINE_BREAK: {
    means: "A backslash and an n in a command became a line break.",
    fix: "Write #92;n for the two characters, and <br> for a line break.",
  },
  SET_SYNTAX: { means: "A SET has no =, or no name before it.", fix: "Write NAME=value." },
  SET_EQUALS: {
    means: "The value of a SET begins with =.",
    fix: "Write one = to set; quote the value if the sign belongs to it.",
  },
  SET_NAME: {
    means: "A SET names something that cannot be a variable.",
    fix: "Use letters, digits and underscores, beginning with a letter.",
  },
  SET_NUMBER: {
    means: "A SET gives a setting a value that is not in its range.",
    fix: "Write a number in the range that the finding names.",
  },
  SET_STATUS: { means: "STATUS is set to a word that is no status.", fix: "Use one of those that the finding lists." },
  ATTRIBUTE_UNKNOWN: {
    means: "An attribute means nothing on a node of this kind.",
    fix: "Remove it, or correct its name.",
  },
  ATTRIBUTE_VALUE: { means: "An attribute has a value of the wrong kind.", fix: "Write a value as the finding says." },
  JUDGE_UNUSED: {
    means: "Nothing runs in the judge session that the front matter describes.",
    fix: "Write session: judge on the EXECUTE that decides.",
  },
  JUDGE_FROM_REPLY: {
    means: "Commands of a reply would run in the judge session.",
    fix: "Write the command into the caption, or remove the attribute session.",
  },
  CALL_OUTSIDE: {
    means: "A called workflow lies outside the workflow folder.",
    fix: "Copy the file into the folder and call it from there.",
  },
  CALL_PROTECTED: {
    means: "A dot-file, a key file or a file of Markmill's own folder is called; no workflow reads these.",
    fix: "Copy the workflow into a file with an ordinary name.",
  },
  FILE_OUTSIDE: {
    means: "A file: leads outside the workflow folder, or names no file.",
    fix: "Name a file below the folder of the workflow or of the submission.",
  },
  FILE_NOT_IN_WORKSPACE: {
    means: "A file is not beside the workflow, so that it must come with each submission.",
    fix: "Add the file, or make sure each submission has it; --submission PATH tells which files come.",
  },
  EDGE_LABEL: {
    means: "An edge's label does not say which outcome takes it.",
    fix: "For success write nothing or TRUE, for failure FALSE.",
  },
  EDGE_INTO_START: {
    means: "An edge leads back to START, which runs once, at the beginning.",
    fix: "Lead it to the node after START.",
  },
  EDGE_FROM_END: {
    means: "An edge begins at an end of the workflow and is never taken.",
    fix: "Remove it, or begin it at ON_SUCCESS or ON_FAILED.",
  },
  EDGE_INTO_HANDLER: {
    means: "An edge leads to a handler, which runs by itself when the workflow ends.",
    fix: "Lead it to SUCCESS or FAILED.",
  },
  EDGE_SUBGRAPH: {
    means: "An edge begins or ends at a subgraph, which is no step.",
    fix: "Draw it between the nodes inside the subgraphs.",
  },
  EDGE_NEVER_TAKEN: {
    means: "A failure edge begins at a node that cannot fail.",
    fix: "Remove the label, or begin the edge at a node that can fail.",
  },
  EDGE_DUPLICATE: { means: "An edge is drawn twice.", fix: "Remove one of the two." },
  EDGE_CONFLICT: {
    means: "A node has two edges for the same outcome; only the later is taken.",
    fix: "Remove one of the two, or label one of them for the other outcome.",
  },
  PARAMS_EDGE: {
    means: "An edge touches PARAMS, which is no step.",
    fix: "Remove the edge, or draw it as a note with -.-.",
  },
  PARAMS_EMPTY: { means: "A PARAMS node declares no parameter.", fix: "List them in its caption." },
  PARAM_NAME: {
    means: "A parameter has no name, or one that cannot be one.",
    fix: "Write NAME or NAME=default, separated by commas.",
  },
  PARAM_NUMBER: {
    means: "The default of a parameter that is a setting is not in its range.",
    fix: "Write a number in the range that the finding names.",
  },
  PARAM_RESERVED: {
    means: "A parameter has a name that every run writes itself, such as RESULT or CONTENT.",
    fix: "Give the parameter another name.",
  },
  PARAM_DUPLICATE: { means: "A parameter is declared twice; the later default counts.", fix: "Remove one of the two." },
  CHECK_EMPTY: { means: "A CHECK has no expression.", fix: "Write one, such as RESULT == 'SUCCESS'." },
  CHECK_SYNTAX: {
    means: "Something in an expression does not belong there, or is missing.",
    fix: "Write left, operator, right; join conditions with and / or.",
  },
  CHECK_OPERATOR: {
    means: "A word stands where an operator must.",
    fix: "Use one of the operators that the finding lists; quote a left side of several words.",
  },
  CHECK_QUOTE: {
    means: "A quote in an expression is never closed.",
    fix: "Close it; a quote inside the text is written twice.",
  },
  QUOTE_TYPOGRAPHIC: {
    means: "A typographic quote stands where a quote must; it quotes nothing.",
    fix: "Write straight quotes: '…'.",
  },
  CHECK_NUMBER: {
    means: "A number that a CHECK compares with can be read as two different numbers, such as 1,500.",
    fix: "Write 1500 or 1.5, or say decimal: comma on the CHECK.",
  },
  CHECK_PATTERN: {
    means: "A regular expression of MATCHES is refused.",
    fix: "Use classes, groups, alternatives and repetitions; look-around and back-references are not supported.",
  },
  CHECK_DEPTH: { means: "An expression is nested too deep.", fix: "Split it over several CHECK nodes." },
  MERMAID_NOT_FLOWCHART: {
    means: "A mermaid block is no flowchart.",
    fix: "Begin the block with flowchart TD; nothing, if it is only an illustration.",
  },
  MERMAID_UNKNOWN_DIRECTION: {
    means: "A flowchart's direction is none that mermaid knows.",
    fix: "Write TD, TB, BT, LR or RL.",
  },
  MERMAID_UNKNOWN_STATEMENT: {
    means: "A line is neither a node nor a link nor a statement.",
    fix: "Write a node as ID[caption], a link as A --> B.",
  },
  MERMAID_UNKNOWN_ARROW: { means: "An arrow is none of a flowchart's.", fix: "Write -->, ==> or -.->." },
  MERMAID_TEXT_AFTER_STATEMENT: {
    means: "Text follows a statement on its line.",
    fix: "Put each statement on a line of its own, and quote captions.",
  },
  MERMAID_BAD_ID: {
    means: "A text cannot be the id of a node.",
    fix: "Begin with a letter or _, and use only letters, digits, _ and -.",
  },
  MERMAID_RESERVED_ID: {
    means: "Mermaid reserves the word that is used as an id.",
    fix: "Write it in capitals, or lengthen it.",
  },
  MERMAID_BAD_CLASS: { means: "::: is not followed by the name of a class.", fix: "Write ID:::class, or delete it." },
  MERMAID_BAD_ATTRIBUTE: {
    means: "An attribute is not written as key: value, or is given twice.",
    fix: "Write ID@{ key: value, other: value }.",
  },
  MERMAID_MISSING_NODE: { means: "No node follows &.", fix: "Write A & B --> C." },
  MERMAID_ARROW_WITHOUT_SOURCE: { means: "An arrow has no node before it.", fix: "Write the node before the arrow." },
  MERMAID_ARROW_WITHOUT_TARGET: {
    means: "An arrow leads to no node.",
    fix: "Write the node on the same line, after the arrow and its label.",
  },
  MERMAID_BACKWARD_ARROW: {
    means: "An arrow points backwards, which mermaid cannot draw.",
    fix: "Turn the link round.",
  },
  MERMAID_EMPTY_LABEL: { means: "The label of an arrow is empty.", fix: "Write its text, or a plain -->." },
  MERMAID_END_WITHOUT_SUBGRAPH: { means: "end closes a subgraph, but none is open.", fix: "Delete the line." },
  MERMAID_TOO_MANY_LINKS: {
    means: "& on both sides of arrows draws too many links.",
    fix: "Draw the links that are meant one by one.",
  },
  MERMAID_TOO_MANY_FINDINGS: {
    means: "There are more findings in the chart than are listed.",
    fix: "Mend those before, then validate again.",
  },
  MERMAID_UNCLOSED_ATTRIBUTES: { means: "An attribute list is never closed.", fix: "Close it with }." },
  MERMAID_UNCLOSED_BRACKET: {
    means: "A node's bracket is not closed on its line.",
    fix: "Close it; quote captions that hold brackets or take several lines.",
  },
  MERMAID_UNCLOSED_DESCRIPTION: { means: "accDescr { is never closed.", fix: "Close it with }." },
  MERMAID_UNCLOSED_DIRECTIVE: {
    means: "A directive %%{ is never closed.",
    fix: "Close it with }%%, or write a comment as %% text.",
  },
  MERMAID_UNCLOSED_FRONT_MATTER: {
    means: "The front matter of a mermaid block is never closed.",
    fix: "Close it with a line ---.",
  },
  MERMAID_UNCLOSED_LABEL: { means: "The label of an arrow is never closed.", fix: "Write A -->|label| B." },
  MERMAID_UNCLOSED_QUOTE: {
    means: "A quoted caption or value is never closed.",
    fix: "End it with the same quote; write #quot; for a quote inside.",
  },
  MERMAID_UNCLOSED_SUBGRAPH: { means: "A subgraph is never closed.", fix: "Write end on a line of its own." },
} as const satisfies Record<string, CodeEntry>;

export type WorkflowCode = keyof typeof workflowCodes;
export type WorkflowReport = Report<FindingCode | WorkflowCode | RubricFindingCode>;
