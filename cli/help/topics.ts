import { exitMeanings, exits, type Exit } from '../failures/failure.ts'

export interface Topic {
  summary: string
  text: () => string
}

/** The output of `board help <topic>`. */
export const topics: Record<string, Topic> = {
  environment: {
    summary: 'How the server, token and project are selected, and other environment variables',
    text: () => environment,
  },
  'exit-codes': { summary: 'Meanings of the exit codes', text: () => exitCodes() },
  formatting: { summary: 'Tables, JSON, --json, --jq, --template and -q', text: () => formatting },
  proxy: { summary: 'How to run a server with HTTPS behind nginx', text: () => proxy },
  recipes: { summary: 'Commands for common tasks', text: () => recipes },
  scripting: { summary: 'How to use board in scripts and in cron', text: () => scripting },
}

const proxy = `The proxy serves HTTPS, and the server listens on this machine only. The server must know its public address and trust the client
address that the proxy sends:
  board serve --public-url https://board.example.com --trust-proxy
  board server install -- --public-url https://board.example.com --trust-proxy    # as a service of your account

The proxy must forward WebSockets. For nginx:
  server {
      listen 443 ssl;
      server_name board.example.com;
      ssl_certificate /etc/ssl/board.pem;
      ssl_certificate_key /etc/ssl/board.key;
      client_max_body_size 300m;
      location / {
          proxy_pass http://127.0.0.1:4400;
          proxy_http_version 1.1;
          proxy_read_timeout 1h;
          proxy_request_buffering off;
          proxy_buffering off;
          proxy_set_header Host $host;
          proxy_set_header X-Forwarded-For $remote_addr;
          proxy_set_header X-Forwarded-Proto $scheme;
          proxy_set_header Upgrade $http_upgrade;
          proxy_set_header Connection $http_connection;
      }
  }

Create your account with board auth setup, and those of your team with board users create.

Without a proxy, the server itself serves HTTPS:
  board serve --host 0.0.0.0 --cert board.pem --key board.key --public-url https://board.example.com:4400
`

const recipes = `Run a server for a team with HTTPS, behind nginx or another proxy (see: board help proxy):
  board serve --public-url https://board.example.com --trust-proxy

Use a server on another machine:
  board auth login --url https://board.example.com

Start an agent on each card that you move to a column:
  board columns create Build --type active --agent claude --prompt "Write the test first."
  board cards move 12 --to Build

Run cards in order, each after the one before it is done:
  board cards add "Write the tests" --auto
  board cards add "Write the docs" --auto --blocked-by 12

See what an agent did last night:
  board agents messages 12 --since 12h
  board cards diff 12

See what an agent changed, and send the card back with comments:
  board cards diff 12
  board cards review 12 --file src/a.ts --line 12 -m "Why twice?" --request-changes

Merge into another branch as one commit:
  board cards merge 12 --into release --squash

Require a test or the approval of a reviewer before cards are merged:
  board gates add tests "npm test" --merge
  board gates add review --approvals 1 --role admin --merge

Stop all agents, or stop everything with the server:
  board cards list -s running -q | board cards cancel -
  board server stop

Limit what agents spend per month:
  board budgets set project --limit 20 --period month

Schedule a card: once at a set time, or every Monday at 9:00:
  board cards add "Tag the release" --start-at 2030-01-31T18:00 --run
  board schedules add "Update dependencies" --cron "0 9 * * 1" --column "In Progress"

Import cards from Trello, or issues from GitHub once or continuously:
  board import trello trello.json -P web
  gh issue list --state all --json number,title,body,labels,state,url | board import github - -P web
  board projects forge web --issue-label board

Give an agent an API key for its model, or another secret as a variable:
  board credentials add work --provider anthropic --api-key-stdin < key.txt
  board projects credential work
  board agents profiles add deploy --agent claude --env DEPLOY_TOKEN

Allow agents to reach one more host from their sandbox:
  board projects sandbox --network listed --allow registry.npmjs.org

Back up every night, and restore the newest backup on another machine, before its server starts:
  board serve --backup-every "0 3 * * *"
  board backups download --latest -o board.tar.gz
  board backups restore board.tar.gz --data-dir ~/.local/share/board
Automatic backups omit the key that decrypts stored secrets. Also copy the file secret.key of the data folder to the other machine.

Connect Claude Code or Cursor with MCP (see: board help mcp):
  claude mcp add board -- board mcp
`

const environment = `The server is selected in this order:
  --url                 an address
  --profile             the name of a profile
  BOARD_URL             an address
  BOARD_PROFILE         the name of a profile
  the selected profile  board profile use
  the server that this account runs on this machine

The token is selected in this order:
  --token-file          a file, or - for stdin
  --profile             the token of that profile
  BOARD_TOKEN           the token
  BOARD_TOKEN_FILE      a file with the token
  the profile's token   from board auth login; sent only to the server that issued it
  the token of the running server on this machine

The project is selected in this order:
  -P, --project         a name or an ID
  BOARD_PROJECT         a name or an ID
  the profile's project board projects use
  the project whose folder contains the current folder

board auth status shows which of them applies.

Other variables:
  BOARD_DATA_DIR        the data folder of the server on this machine
  BOARD_SETUP_CODE      the code for board auth setup, which a server prints when it starts
  BROWSER               the command that opens pages for --web, board browse and board auth login --oidc; %s is the address
  BOARD_COMPLETION_TIMEOUT_MS  time limit of shell completion in ms (default: 270)
  BOARD_FORCE_TTY       print to a pipe as to a terminal; a number sets the width
  NO_COLOR              print no color
  FORCE_COLOR           print color to a pipe; 0 prints none
  TERM                  dumb: no color and no pager
  PAGER                 the pager for long text; empty or cat: none
  VISUAL, EDITOR        the editor
`

const formatting = `On a terminal, lists are tables, and times are relative. In a pipe, a list has one line per row, without a header, with
tabs between the fields, full values and ISO times.

  --json                print all data as JSON; an empty list is []
  --json id,title       print only these fields
  --jq EXPRESSION       filter the JSON with jq; text is printed without quotes
  --template TEXT       print TEXT for each row, with the fields of the row
  -q, --quiet           print only IDs, one per line

An error about an unknown field lists the known fields:
  board projects list --json x

In a template (mustache), {{title}} is a field, {{#labels}}{{.}} {{/labels}} repeats for each item of a list,
{{#unread}}new{{/unread}} appears if the field is true, {{^unread}}read{{/unread}} appears if it is false, and \\t and \\n are a tab
and a new line.

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

Data goes to stdout. Everything else goes to stderr.
`

const scripting = `Commands never prompt if stdin is not a terminal, or with --no-input. They exit with 2 and name the option that answers the question.
--yes confirms a deletion.

With -, a command reads IDs from stdin. Bulk commands continue after a failure, print one line per ID, exit with 1 if any ID
failed, and slow down if the server limits requests:
  board cards list -c review -q | board cards move - --to done

Long text can come from a file or stdin: -F FILE or -F -.

In cron, use an API key in a file that only you can read:
  BOARD_URL=https://board.example.com
  BOARD_TOKEN_FILE=/home/ada/.board-key
  0 7 * * 1-5  board cards add "Check the dependencies" -P 1

With a sign-in, or an API key with the permission, you can call any route:
  board api /api/projects/1/stats --jq .total

You can abbreviate command names if they are unique (board car li). In scripts, use full names, because a later version can add
a command with the same beginning.

Exit code 7 means that no server answered, or that the server is busy. Try again later. See: board help exit-codes
`

const exitCodes = (): string =>
  `Exit codes:\n${(Object.keys(exits) as Exit[]).map(name => `  ${String(exits[name]).padStart(3)}  ${exitMeanings[name]}`).join('\n')}\n${waits}`

const waits = `
Commands that wait for work exit with 0 only if the work is done. For cards, this means that each card is completed. If a
card failed, was cancelled or interrupted, never ran, or waits for a person, they exit with 1. This applies to cards wait --exit-status,
cards run --wait and --follow, agents retry and relaunch --wait, and assistant send --wait. presession --wait exits with 0 if the
planning agent answered, scripts run --exit-status with the script's exit code.

cards wait without --exit-status exits with 0 if each card has one of the statuses of --for, and with 1 if nothing is running,
queued or scheduled that could give it one.
`
