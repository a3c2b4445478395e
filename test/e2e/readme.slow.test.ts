import type { CommanderError } from 'commander'
import { execFileSync, spawn, type ChildProcessByStdio } from 'node:child_process'
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import type { Readable, Writable } from 'node:stream'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { fixture } from '../support/agents/agent.ts'
import { hideAgents } from '../support/servers/testBoard.ts'
import { eventually } from '../support/waiting/eventually.ts'
import { boardLines, parsed } from '../support/commands/shellLines.ts'

/** The pages with commands for users, in the order in which they are read. */
const pages = [
  'README.md',
  'docs/recipes.md',
  'docs/operations.md',
  'docs/backups.md',
  'docs/several-machines.md',
  'docs/figures.md',
  'docs/sandbox.md',
  'CONTRIBUTING.md',
]
/** Other pages whose links are checked. */
const linking = ['SECURITY.md', 'CHANGELOG.md', 'test/attacks/README.md', 'docs/commands.md']
/** Commands that no test can run here, with the reason. */
const notRun: Record<string, string> = {
  'npm run': 'a measurement takes minutes',
  'npm test': 'it is what runs this',
  'docker compose': 'it fetches an image',
}
/** Pages with no executed commands: they are about this repository. */
const onlyRead = ['CONTRIBUTING.md']
/** Programs that replace others: name -> its script. */
const standIns: Record<string, string> = {
  // The packages are installed already, and npm would download others; `npm test` in a user's project succeeds.
  npm: 'case "$1" in pack) echo board-0.2.0.tgz ;; start) exec board serve ;; esac',
  // The enabled service is this server.
  systemctl: 'case "$*" in *enable*) exec board serve > /dev/null ;; esac',
}
/** Runs `board serve` as the server of all pages if none runs yet, otherwise ends it once it answers. Ends `board events` after it prints a move. */
const board = (program: string) => `#!/bin/bash
set -eu
board=('${process.execPath}' '${program}')
case "\${1-}" in
  serve)
    extra=(); [ -e "$HOME/.local/share/board/daemon.json" ] && extra=(--data-dir "$(mktemp -d "$HOME/other.XXXX")")
    out=$(mktemp); exec 3< "$out"
    port=0; [ \${#extra[@]} != 0 ] || [ ! -e "$HOME/port" ] || port=$(cat "$HOME/port")
    "\${board[@]}" "$@" --port "$port" "\${extra[@]}" > "$out" 2>> "$HOME/server.log" < /dev/null & pid=$!
    until read -r line <&3; do kill -0 $pid; sleep 0.05; done
    echo "$line"
    if [ \${#extra[@]} = 0 ]; then echo $pid > "$HOME/server.pid"; echo "\${line##*:}" > "$HOME/port"; else kill -TERM $pid; wait $pid; fi ;;
  events)
    "\${board[@]}" "$@" & pid=$!
    for place in 0 1 0 1 0 1 0 1 0 1; do [ -e "$HOME/moves.log" ] || { "\${board[@]}" cards move 1 --position $place -q > /dev/null; sleep 0.2; }; done
    kill -TERM $pid; wait $pid || [ $? = 143 ] ;;
  *) exec "\${board[@]}" "$@" ;;
esac
`

/** Pages about a single topic: their commands are parsed, but not run. The test of the help parses the examples of the commands. */
const subjects = readdirSync('docs')
  .map(name => `docs/${name}`)
  .filter(page => page.endsWith('.md') && ![...pages, ...linking].includes(page))
const read = (page: string) => [page, readFileSync(page, 'utf8')] as const
const texts = pages.map(read)
const whole = texts.map(([, text]) => text).join('\n')
const subjectTexts = subjects.map(read)
const blocks = texts
  .filter(([page]) => !onlyRead.includes(page))
  .flatMap(([page, text]) =>
    [...text.matchAll(/^```sh\n([\s\S]*?)^```$/gm)].map(match => ({ page, script: match[1]! })),
  )
/** Commands in the text, as `board cards list`, and in blocks that are not run. */
const commandsIn = (text: string, notRunBlocks: RegExp): string[] =>
  [
    ...[...text.replace(/^```[\s\S]*?^```$/gm, '').matchAll(/`([^`]+)`/g)].map(match =>
      match[1]!.replaceAll('\n', ' '),
    ),
    ...[...text.matchAll(notRunBlocks)].flatMap(match =>
      match[1]!.split('\n').flatMap(line => /\bboard \w.*/.exec(line)?.[0].replace(/ {2,}#.*/, '') ?? []),
    ),
  ].filter(command => /^(board|npm|docker|git) \w/.test(command))
const mentioned = [
  ...commandsIn(whole, /^```(?:yaml|text)\n([\s\S]*?)^```$/gm),
  ...subjectTexts.flatMap(([, text]) => commandsIn(text, /^```(?:yaml|text|sh)\n([\s\S]*?)^```$/gm)),
]

const root = mkdtempSync(join(tmpdir(), 'board-readme-'))
const home = join(root, 'home')
const folder = join(home, 'my-app')
const received: string[] = []
const receiver = createServer((request, response) => {
  received.push(request.url!)
  request.resume().on('end', () => response.end('{}'))
})

/** One terminal: a shell that receives one block at a time, and ends at the first line that fails. */
interface Terminal {
  shell: ChildProcessByStdio<Writable, Readable, null>
  said: string
}
let terminal: Terminal

beforeAll(async () => {
  const bin = join(root, 'bin')
  const clone = join(root, 'board')
  for (const path of [bin, clone, home]) mkdirSync(path)
  const programs = { ...standIns, board: board(resolve('bin/board.js')) }
  for (const [name, script] of Object.entries(programs))
    writeFileSync(join(bin, name), script.startsWith('#!') ? script : `#!/bin/sh\n${script}\n`, { mode: 0o755 })
  hideAgents(join(home, '.local/share/board'), {
    claude: { command: [process.execPath, fixture('well-behaved')], env: { FIXTURE_ECHO: '1' } },
  })
  chmodSync(join(home, '.local/share/board/config.json'), 0o600)
  await new Promise<void>(listening => receiver.listen(0, '127.0.0.1', listening))
  const shell = spawn('bash', ['--norc', '-eo', 'pipefail'], {
    cwd: clone,
    env: environment(bin),
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  terminal = { shell, said: '' }
  shell.stdin.on('error', () => {
    /* The shell has ended. */
  })
  shell.stdout.setEncoding('utf8').on('data', (text: string) => {
    terminal.said += text
  })
  shell.stdin.write('exec 2>&1\n')
})
afterAll(async () => {
  terminal.shell.stdin.end()
  if (existsSync(join(home, 'server.pid'))) {
    const pid = Number(readFileSync(join(home, 'server.pid'), 'utf8'))
    if (isAlive(pid)) process.kill(pid, 'SIGTERM')
    while (isAlive(pid)) await new Promise(resolve => setTimeout(resolve, 20))
  }
  receiver.close()
  rmSync(root, { recursive: true, force: true, maxRetries: 5 })
})

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

const environment = (bin: string): Record<string, string> => ({
  PATH: `${bin}:${process.env.PATH}`,
  HOME: home,
  LC_ALL: 'C.UTF-8',
  TERM: 'dumb',
  BOARD_ALLOW_PRIVATE_WEBHOOKS: '1',
  GIT_CONFIG_NOSYSTEM: '1',
})

/** Replaces the pages' addresses by those of this test's server and receiver, except where a command sets the address of a server. */
function withAddresses(script: string): string {
  const runtime = join(home, '.local/share/board/daemon.json')
  const server: string = existsSync(runtime) ? JSON.parse(readFileSync(runtime, 'utf8')).url : 'http://127.0.0.1:4400'
  const outside = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}`
  return script
    .split('\n')
    .map(line =>
      line.startsWith('board serve')
        ? line
        : line
            .replaceAll('http://127.0.0.1:4400', server)
            .replaceAll('https://board.example.org', server)
            .replaceAll('https://example.com', outside)
            .replaceAll('http://127.0.0.1:4318', outside),
    )
    .join('\n')
}

/** Files of the reader of docs/operations.md: a password and keys of other services. */
function bringFiles(): void {
  for (const [name, text] of Object.entries({
    password: 'correct horse\n',
    key: 'sk-ant-api03-of-a-test\n',
    'key.txt': 'of-a-test\n',
  }))
    writeFileSync(join(folder, name), text, { mode: 0o600 })
}

/** Whether the shell has finished the block that it received. */
const isTold = (before: number): boolean => terminal.said.slice(before).includes('\u001e')

describe('the documentation pages', () => {
  test.each(blocks)('work as described, in one terminal, in their order: $page: $script', async ({ script }) => {
    const before = terminal.said.length
    terminal.shell.stdin.write(`${withAddresses(script)}printf '\\036'\n`)
    await eventually('the end of its lines', () => isTold(before) || terminal.shell.exitCode !== null, 240_000)
    expect(isTold(before), terminal.said.slice(before)).toBe(true)
    if (existsSync(folder)) bringFiles()
  })

  test('have valid addresses', async () => {
    const listed = async <T>(...args: string[]): Promise<T> => {
      const before = terminal.said.length
      terminal.shell.stdin.write(`board ${args.join(' ')} --json; printf '\\036'\n`)
      await eventually('its answer', () => isTold(before) || terminal.shell.exitCode !== null)
      expect(isTold(before), terminal.said.slice(before)).toBe(true)
      return JSON.parse(terminal.said.slice(before).replace('\u001e', ''))
    }
    const cards = await listed<Array<{ title: string; status: string }>>('cards', 'list', '--all', '-P', '1')
    const titles = cards.map(({ title }) => title)
    expect(titles).toContain('Update the dependencies')
    // These cards are done, so that the script for cron has archived them.
    expect(titles).not.toContain('Say hello')
    expect(titles).not.toContain('Greet in German')
    const subjects = execFileSync('git', ['-C', folder, 'log', '--first-parent', '--format=%s'], { encoding: 'utf8' })
    expect(subjects.trim().split('\n')).toEqual([
      expect.stringContaining('Greet in German'),
      expect.stringContaining('Say hello'),
      'Start',
    ])
    expect(readFileSync(join(home, 'moves.log'), 'utf8')).toMatch(/^card\.moved card 1$/m)
    await eventually('the webhook', () => received.includes('/hook'))
    const projects = await listed<Array<{ name: string; path: string }>>('projects', 'list')
    expect(projects.map(({ path }) => path)).toEqual(['my-app', 'my-copy', 'club-site'].map(name => join(home, name)))
  })

  test('name only existing commands, and every command that does not run has a reason', async () => {
    const wrong: string[] = []
    for (const text of mentioned) {
      if (Object.keys(notRun).some(name => text.startsWith(name))) continue
      const lines = boardLines(text)
      if (lines.length === 0 && !/^(npm|git) /.test(text)) wrong.push(text)
      for (const words of lines)
        await parsed(words).catch((error: CommanderError) => {
          if (error.exitCode !== 0 && !/^commander\.(missing|optionMissing)/.test(error.code ?? ''))
            wrong.push(`${text}: ${error.message}`)
        })
    }
    expect(wrong).toEqual([])
    for (const name of Object.keys(notRun)) expect(whole, name).toContain(`\`${name}`)
  })

  test('link to files and headings that exist', () => {
    const anchorsOf = (path: string) =>
      [...readFileSync(path, 'utf8').matchAll(/^#+ (.*)$/gm)].map(([, heading]) =>
        heading!
          .toLowerCase()
          .replace(/[^\w\- ]/g, '')
          .replaceAll(' ', '-'),
      )
    const exists = (path: string, anchor: string | undefined) =>
      existsSync(path) && (anchor === undefined || anchorsOf(path).includes(anchor))
    const missing = [...texts, ...subjectTexts, ...linking.map(read)].flatMap(([page, text]) =>
      [
        ...text
          .replace(/^```[\s\S]*?^```$/gm, '')
          .replace(/`[^`]+`/g, '')
          .matchAll(/(?<!\\)\]\((?!https?:)([^)#]*)(?:#([^)]+))?\)/g),
      ].flatMap(([link, path, anchor]) =>
        exists(path === '' ? page : join(page, '..', path!), anchor) ? [] : `${page}: ${link}`,
      ),
    )
    expect(missing).toEqual([])
  })
})
