import { exitMeanings, exits, type Exit } from '../failures/failure.ts'

/** What `board help <topic>` prints. */
export const topics: Record<string, { summary: string; text: () => string }> = {
  environment: {
    summary: 'Which server, token and project are used, and what else the environment says',
    text: () => environment,
  },
  'exit-codes': { summary: 'What the exit codes mean', text: () => exitCodes() },
  formatting: { summary: 'Tables, JSON, --json, --jq, --template and -q', text: () => formatting },
  scripting: { summary: 'Using board in scripts and in cron', text: () => scripting },
}

const environment = `Which server, in this order:
  --url                 an address
  --profile             a profile by name
  BOARD_URL             an address
  BOARD_PROFILE         a profile by name
  the profile in use    board profile use
  the server that this account runs on this machine

Which token, in this order:
  --token-file          a file, - for stdin
  --profile             the token of that profile
  BOARD_TOKEN           the token
  BOARD_TOKEN_FILE      a file that holds it
  the profile's         made by board auth login; it goes only to the server that made it
  the running server's own, on this machine

Which project, in this order:
  -P, --project         a name or an id
  BOARD_PROJECT         a name or an id
  the profile's         board projects use
  the project whose path contains the working folder

board auth status says which of them was used.

Other variables:
  BOARD_DATA_DIR        the data folder of the server on this machine
  BOARD_SETUP_CODE      the code that a server printed at its start, for board auth setup
  BROWSER               the command that opens pages, for --web, board browse and board auth login --oidc; %s in it is the address
  BOARD_COMPLETION_TIMEOUT_MS  how long completion in the shell may take (270)
  BOARD_FORCE_TTY       print as on a terminal even in a pipe; a number is its width
  NO_COLOR              print no colour
  FORCE_COLOR           print colour even in a pipe; 0 prints none
  TERM                  dumb: no colour, no pager
  PAGER                 shows long text; empty or cat: none
  VISUAL, EDITOR        edits texts
`

const formatting = `On a terminal, lists are tables and times are relative. In a pipe, a list is one line a row, without a head,
with tabs between the fields, nothing cut off, and ISO times.

  --json                the data as JSON, an empty list as []
  --json id,title       only these fields
  --jq EXPRESSION       filter the JSON with jq; texts are printed without quotes
  --template TEXT       print TEXT for each row, with the row's fields in it, as below
  -q, --quiet           ids only, one a line, and no talk

An unknown field names the known ones:
  board projects list --json x

In a template (mustache), {{title}} is a field, {{#labels}}{{.}} {{/labels}} goes through a list, {{#unread}}new{{/unread}}
is there if the field is true and {{^unread}}read{{/unread}} if it is not, and \\t and \\n are a tab and a new line.

IDs are text in --json ("12"), and numbers in responses of /api/external (12). In --jq, "12" == 12 is false, and text is
sorted by character ("9" after "12"). Convert IDs before you compare or sort them. tonumber and tostring accept both forms:
  board cards list --jq 'sort_by(.id | tonumber) | .[].title'
  board cards list --jq '.[] | select((.id | tonumber) >= 2) | .title'
  board api /api/external/projects/1/cards --jq '.items[] | select((.id | tostring) == "2") | .title'
In the shell, both forms are the same: --jq '.[0].id' prints 12 without quotes.

Examples:
  board cards list --template '#{{id}} {{title}}{{#labels}} [{{.}}]{{/labels}}'
  board cards list --json id,title,status
  board cards list --jq '.[] | select(.unread) | .title'
  board cards list -c done -q | board cards archive -

Data goes to stdout, everything else to stderr.
`

const scripting = `Nothing asks when stdin is no terminal, or with --no-input: the command exits 2 and names the flag that answers.
--yes answers what would ask before deleting.

Ids come from stdin with -, and bulk commands go on after a failure, print one line for each id, exit 1 if any failed,
and slow down when the server asks for it:
  board cards list -c review -q | board cards move - --to done

Long texts come from files or stdin with -F FILE or -F -.

In cron, use an API key in a file that only you can read:
  BOARD_URL=https://board.example.com
  BOARD_TOKEN_FILE=/home/ada/.board-key
  0 7 * * 1-5  board cards add "Check the dependencies" -P 1

With a sign-in, or an API key that may do it, any route can be called:
  board api /api/projects/1/stats --jq .total

Names of commands may be cut off where no other command begins so (board car li). In a script write them in full: a new
command may begin so, too.

Exit 7 means: no server answered, or it is busy; try again later. See: board help exit-codes
`

const exitCodes = (): string =>
  `Exit codes:\n${(Object.keys(exits) as Exit[]).map(name => `  ${String(exits[name]).padStart(3)}  ${exitMeanings[name]}`).join('\n')}\n${waits}`

const waits = `
Commands that wait for work exit with 0 only if the work is done. For cards, that means that each card is completed: a card that
failed, was cancelled or interrupted, never ran, or waits for a person gives 1. This applies to cards wait --exit-status,
cards run --wait and --follow, agents retry and relaunch --wait, and assistant send --wait. presession --wait exits with 0 if the
planning agent answered, scripts run --exit-status with the script's exit code.

cards wait without --exit-status exits with 0 if each card has one of the statuses of --for, and with 1 if nothing is running,
queued or scheduled that could give it one.
`
