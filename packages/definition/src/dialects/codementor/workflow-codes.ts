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
    means: "The front matter is not valid YAML, or contains a key twice.",
    fix: "Indent with spaces, and quote values that contain a colon.",
  },
  FRONT_MATTER_KEY: {
    means: "The front matter contains an unknown setting.",
    fix: "Correct its name. The finding lists the valid settings.",
  },
  FRONT_MATTER_VALUE: {
    means: "A setting of the front matter has a value of the wrong kind.",
    fix: "Write a value of the expected kind, or remove the setting.",
  },
  INCLUDE_OUTSIDE: {
    means: "An included file is outside the workflow folder.",
    fix: "Copy the file into the folder and include the copy.",
  },
  INCLUDE_PROTECTED: {
    means:
      "The workflow includes a hidden file, a key file or a file in Markmill's own folder. Workflows cannot read these files.",
    fix: "Copy the needed text into a file with an ordinary name, without secrets.",
  },
  INCLUDE_MISSING: { means: "An included file does not exist.", fix: "Correct the path, or add the file." },
  INCLUDE_CYCLE: { means: "A file includes itself, directly or through others.", fix: "Remove one of these includes." },
  INCLUDE_DEPTH: {
    means: "Includes are nested deeper than 20 files.",
    fix: "Reduce the levels of includes.",
  },
  INCLUDE_OPEN_FENCE: {
    means:
      "A code block in an included file is never closed. The text after the include is read as if the block were closed.",
    fix: "Close the block.",
  },
  INCLUDE_TOO_LARGE: {
    means: "The workflow with its includes is too long.",
    fix: "Include each file once, or split the workflow with CALL.",
  },
  NO_FLOWCHART: {
    means: "The section # Workflow is missing, or it contains no Mermaid flowchart.",
    fix: "Add # Workflow and below it a mermaid block that starts with flowchart TD.",
  },
  PROMPT_CUT: {
    means: "A heading ends a prompt, so the text after it belongs to no prompt.",
    fix: "Use ### in prompts, put the line in a code fence, or move the section before # Prompts.",
  },
  PROMPT_DUPLICATE: {
    means: "Two prompts have the same name. The later one counts.",
    fix: "Give one of them another name.",
  },
  PROMPT_SCHEMA: {
    means: "The schema of a PROMPT is missing, or it is not a supported JSON Schema.",
    fix: "Write it as a json block below ## NAME in a section # Schemas, or name a file with file:.",
  },
  PROMPT_EMPTY: { means: "A prompt has no text.", fix: "Write the text below its heading." },
  PROMPT_LARGE: {
    means: "A prompt is too long for most models.",
    fix: "Pass long texts to the run as a file, and name the file with file:.",
  },
  PROMPT_UNKNOWN: {
    means:
      "A PROMPT names neither a prompt nor a variable. This is an error if the name looks like the name of a prompt.",
    fix: "Add the section of the prompt, or quote the text if it is literal.",
  },
  FENCE_OPEN: {
    means: "A code block is never closed, so everything after it belongs to it.",
    fix: "Close it with a line of the same marks.",
  },
  PLACE_FILE: {
    means: "{{file:…}} is not replaced, because a placeholder contains a name, not a file.",
    fix: "Load the file with a SET node, and write the name of the variable.",
  },
  GRADE_TASK_FILE: {
    means: "The task of a GRADE is in a file that is not in the workflow folder.",
    fix: "Add the file to the workflow folder. A task cannot come from the submission.",
  },
  ASSIGN_LITERAL: {
    means: "An ASSIGN names neither a prompt nor a variable, so RESULT becomes its literal text.",
    fix: "If this is intended, quote the text.",
  },
  VARIABLE_UNKNOWN: {
    means: "The workflow uses a name that it never sets.",
    fix: "Declare the name in PARAMS, or set it with a SET node.",
  },
  AGENT_UNKNOWN: {
    means: "An agent is not declared in the front matter.",
    fix: "Declare the agent under agents, or name a declared one.",
  },
  KIND_UNKNOWN: {
    means: "The id of a node does not start with an activity kind.",
    fix: "Start the id with START, SET_, ASSIGN_, CHECK_, PROMPT_, ASK_, EXECUTE_, CALL_, SUCCESS, FAILED or ON_.",
  },
  START_TWICE: { means: "There are two starts.", fix: "Remove one of them." },
  NO_START: { means: "The flowchart has no START.", fix: "Add START --> and the first activity." },
  HANDLER_UNKNOWN: { means: "An ON node names no known event.", fix: "Handlers are ON_SUCCESS and ON_FAILED." },
  HANDLER_SPELLING: { means: "ON_SUCCES is read as ON_SUCCESS.", fix: "Write ON_SUCCESS." },
  HANDLER_TWICE: { means: "There are two handlers of one event.", fix: "Remove one of them." },
  HEADING_NEAR_MISS: {
    means: "A line looks like the heading of a section or a prompt, but it is not one.",
    fix: "Write the heading as in the finding: # Workflow, # Prompts, ## User Name.",
  },
  NAME_INVISIBLE: {
    means: "A name contains a no-break space or another invisible character, so it matches no other name.",
    fix: "Type the name again, with plain spaces.",
  },
  CAPTION_MISSING: { means: "A node has no caption with its action.", fix: "Give it a caption." },
  CAPTION_PREFIX: {
    means: "A caption does not start with the kind of its node, or it starts with another kind.",
    fix: "Start the caption with the kind and a colon, such as Prompt:.",
  },
  CAPTION_QUOTES: {
    means: "A caption in double quotes contains double quotes.",
    fix: "Write #quot; for a double quote inside it.",
  },
  EXECUTE_LINE_BREAK: {
    means: "A backslash and an n in a command became a line break.",
    fix: "Write #92;n for the two characters, and <br> for a line break.",
  },
  SET_SYNTAX: { means: "A SET has no =, or no name before it.", fix: "Write NAME=value." },
  SET_EQUALS: {
    means: "The value of a SET starts with =.",
    fix: "Write one = to set a value. Quote the value if the sign belongs to it.",
  },
  SET_NAME: {
    means: "A SET names something that cannot be a variable.",
    fix: "Use letters, digits and underscores, and start with a letter.",
  },
  SET_NUMBER: {
    means: "A SET sets a setting to a value outside its range.",
    fix: "Write a number in the range from the finding.",
  },
  SET_STATUS: { means: "STATUS is set to a word that is not a status.", fix: "Use a status from the finding." },
  ATTRIBUTE_UNKNOWN: {
    means: "A node of this kind does not support the attribute.",
    fix: "Remove it, or correct its name.",
  },
  ATTRIBUTE_VALUE: {
    means: "An attribute has a value of the wrong kind.",
    fix: "Write a value as described in the finding.",
  },
  JUDGE_UNUSED: {
    means: "The front matter describes a judge session, but no command runs in it.",
    fix: "Write session: judge on the EXECUTE that decides.",
  },
  JUDGE_FROM_REPLY: {
    means: "Commands from a model's reply would run in the judge session.",
    fix: "Write the command into the caption, or remove the attribute session.",
  },
  CALL_OUTSIDE: {
    means: "A called workflow is outside the workflow folder.",
    fix: "Copy the file into the folder and call the copy.",
  },
  CALL_PROTECTED: {
    means:
      "The workflow calls a hidden file, a key file or a file in Markmill's own folder. Workflows cannot read these files.",
    fix: "Copy the workflow into a file with an ordinary name.",
  },
  FILE_OUTSIDE: {
    means: "A file: is outside the workflow folder, or names no file.",
    fix: "Name a file in the folder of the workflow or of the submission.",
  },
  FILE_NOT_IN_WORKSPACE: {
    means: "A file is not in the workflow folder, so each submission must contain it.",
    fix: "Add the file, or make sure that each submission contains it. --submission PATH names an example submission.",
  },
  EDGE_LABEL: {
    means: "The label of an edge is not a known outcome.",
    fix: "For success write nothing or TRUE, for failure FALSE.",
  },
  EDGE_INTO_START: {
    means: "An edge leads back to START, which runs only once.",
    fix: "Draw the edge to the node after START.",
  },
  EDGE_FROM_END: {
    means: "An edge starts at an end of the workflow and is never used.",
    fix: "Remove the edge, or start it at ON_SUCCESS or ON_FAILED.",
  },
  EDGE_INTO_HANDLER: {
    means: "An edge leads to a handler. Handlers start automatically when the workflow ends.",
    fix: "Draw the edge to SUCCESS or FAILED.",
  },
  EDGE_SUBGRAPH: {
    means: "An edge starts or ends at a subgraph, which is not a step.",
    fix: "Draw the edge between nodes inside the subgraphs.",
  },
  EDGE_NEVER_TAKEN: {
    means: "A failure edge starts at a node that cannot fail.",
    fix: "Remove the label, or start the edge at a node that can fail.",
  },
  EDGE_DUPLICATE: { means: "An edge is drawn twice.", fix: "Remove one of the two." },
  EDGE_CONFLICT: {
    means: "A node has two edges for the same outcome. Only the later one is used.",
    fix: "Remove one of the two, or label one of them for the other outcome.",
  },
  PARAMS_EDGE: {
    means: "An edge touches PARAMS, which is not a step.",
    fix: "Remove the edge, or draw it as a note with -.-.",
  },
  PARAMS_EMPTY: { means: "A PARAMS node declares no parameter.", fix: "List the parameters in its caption." },
  PARAM_NAME: {
    means: "A parameter has no name or an invalid name.",
    fix: "Write NAME or NAME=default, separated by commas.",
  },
  PARAM_NUMBER: {
    means: "The default of a setting is outside its range.",
    fix: "Write a number in the range from the finding.",
  },
  PARAM_RESERVED: {
    means: "The name of a parameter is reserved for the run, such as RESULT or CONTENT.",
    fix: "Give the parameter another name.",
  },
  PARAM_DUPLICATE: { means: "A parameter is declared twice. The later default counts.", fix: "Remove one of the two." },
  CHECK_EMPTY: { means: "A CHECK has no expression.", fix: "Write one, such as RESULT == 'SUCCESS'." },
  CHECK_SYNTAX: {
    means: "A part of an expression is wrong or missing.",
    fix: "Write left side, operator, right side. Join conditions with and / or.",
  },
  CHECK_OPERATOR: {
    means: "An expression contains a word instead of an operator.",
    fix: "Use an operator from the finding. Quote a left side of several words.",
  },
  CHECK_QUOTE: {
    means: "A quote in an expression is never closed.",
    fix: "Close the quote. Write a quote inside the text twice.",
  },
  QUOTE_TYPOGRAPHIC: {
    means: "An expression contains a typographic quote, which does not quote.",
    fix: "Write straight quotes: '…'.",
  },
  CHECK_NUMBER: {
    means: "A number that a CHECK compares with can be read as two different numbers, such as 1,500.",
    fix: "Write 1500 or 1.5, or set decimal: comma on the CHECK.",
  },
  CHECK_PATTERN: {
    means: "A regular expression of MATCHES is invalid or not supported.",
    fix: "Use classes, groups, alternatives and repetitions. Look-around and back-references are not supported.",
  },
  CHECK_DEPTH: { means: "An expression is nested too deep.", fix: "Split the expression into several CHECK nodes." },
  MERMAID_NOT_FLOWCHART: {
    means: "A mermaid block is not a flowchart.",
    fix: "Start the block with flowchart TD. If it is only an illustration, do nothing.",
  },
  MERMAID_UNKNOWN_DIRECTION: {
    means: "The direction of a flowchart is unknown to Mermaid.",
    fix: "Write TD, TB, BT, LR or RL.",
  },
  MERMAID_UNKNOWN_STATEMENT: {
    means: "A line is not a node, a link or a statement.",
    fix: "Write a node as ID[caption], a link as A --> B.",
  },
  MERMAID_UNKNOWN_ARROW: { means: "An arrow is not a flowchart arrow.", fix: "Write -->, ==> or -.->." },
  MERMAID_TEXT_AFTER_STATEMENT: {
    means: "Text follows a statement on its line.",
    fix: "Put each statement on a line of its own, and quote captions.",
  },
  MERMAID_BAD_ID: {
    means: "A text cannot be the id of a node.",
    fix: "Start with a letter or _, and use only letters, digits, _ and -.",
  },
  MERMAID_RESERVED_ID: {
    means: "An id is a reserved word of Mermaid.",
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
    fix: "Reverse the link.",
  },
  MERMAID_EMPTY_LABEL: { means: "The label of an arrow is empty.", fix: "Write its text, or a plain -->." },
  MERMAID_END_WITHOUT_SUBGRAPH: { means: "end closes a subgraph, but none is open.", fix: "Delete the line." },
  MERMAID_TOO_MANY_LINKS: {
    means: "& on both sides of arrows draws too many links.",
    fix: "Draw each link separately.",
  },
  MERMAID_TOO_MANY_FINDINGS: {
    means: "The chart has too many findings. Some are not listed.",
    fix: "Correct the listed findings, then validate again.",
  },
  MERMAID_UNCLOSED_ATTRIBUTES: { means: "An attribute list is never closed.", fix: "Close it with }." },
  MERMAID_UNCLOSED_BRACKET: {
    means: "A node's bracket is not closed on its line.",
    fix: "Close the bracket. Quote captions that contain brackets or several lines.",
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
