import type { CommanderError } from 'commander'
import { execFileSync } from 'node:child_process'
import { chmodSync, cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { fixture } from '../agents/agent.ts'
import { makeRepository } from '../agents/agentBoard.ts'
import { run } from '../commandLine.ts'
import { eventually, hideAgents } from '../helper.ts'
import { boardLines, parsed } from '../shellLines.ts'

/** Commands of the README that no test can run here, and why. */
const notRun: Record<string, string> = {
  'npm link': 'it changes this machine',
  'npm run': 'a measurement takes minutes',
  'docker compose': 'it fetches an image',
}
/** Programs that stand in for others: name -> a script of them. */
const standIns = (fixtures: string): Record<string, string> => ({
  // The packages are there already, and npm would fetch others.
  npm: '[ "$1" = ci ] || [ -z "${CI-}" ]',
  npx: 'exec "$@"',
  gh: `cat '${fixtures}/imports/github.json'`,
  'notify-send': 'echo "$@" >> "$HOME/notified"',
  systemctl: 'echo "$@" >> "$HOME/services"',
})
/** `board serve` is the server of the whole README where none runs yet, else one that is ended as soon as it answers. `board events` goes on until it has told of a move. */
const board = (program: string) => `#!/bin/bash
set -eu
board=('${process.execPath}' '${program}')
case "\${1-}" in
  serve)
    extra=(); [ -e "$HOME/.local/share/board/daemon.json" ] && extra=(--data-dir "$(mktemp -d "$HOME/other.XXXX")")
    out=$(mktemp); exec 3< "$out"
    "\${board[@]}" "$@" --port 0 "\${extra[@]}" > "$out" 2>> "$HOME/server.log" < /dev/null & pid=$!
    until read -r line <&3; do kill -0 $pid; sleep 0.05; done
    echo "$line"
    if [ \${#extra[@]} = 0 ]; then echo $pid > "$HOME/server.pid"; else kill -TERM $pid; wait $pid; fi ;;
  events)
    "\${board[@]}" "$@" & pid=$!
    for place in 0 1 0 1 0 1 0 1 0 1; do [ -e "$HOME/notified" ] || { "\${board[@]}" cards move 1 --position $place -q > /dev/null; sleep 0.2; }; done
    kill -TERM $pid; wait $pid || [ $? = 143 ] ;;
  *) exec "\${board[@]}" "$@" ;;
esac
`

const readme = readFileSync('README.md', 'utf8')
const blocks = [...readme.matchAll(/^(#+ .+)$|^```sh\n([\s\S]*?)^```$/gm)]
  .reduce<Array<{ head: string; script: string }>>(
    (found, [, head, script]) =>
      head !== undefined ? [...found, { head, script: '' }] : [...found, { head: found.at(-1)!.head, script: script! }],
    [],
  )
  .filter(({ script }) => script !== '')
/** Commands in the text, as `board cards list`. */
const mentioned = [...readme.replace(/^```[\s\S]*?^```$/gm, '').matchAll(/`([^`]+)`/g)]
  .map(match => match[1]!.replaceAll('\n', ' '))
  .filter(text => /^(board|npm|docker|git) \w/.test(text))

const root = mkdtempSync(join(tmpdir(), 'board-readme-'))
const home = join(root, 'home')
const folder = join(home, 'my-app')
const received: string[] = []
const receiver = createServer((request, response) => {
  received.push(request.url!)
  request.resume().on('end', () => response.end('{}'))
})

beforeAll(async () => {
  const bin = join(root, 'bin')
  mkdirSync(bin)
  const programs = { ...standIns(resolve('test/fixtures')), board: board(resolve('bin/board.js')) }
  for (const [name, script] of Object.entries(programs))
    writeFileSync(join(bin, name), script.startsWith('#!') ? script : `#!/bin/sh\n${script}\n`, { mode: 0o755 })
  makeRepository(folder)
  hideAgents(join(home, '.local/share/board'), { claude: { command: [process.execPath, fixture('well-behaved')] } })
  chmodSync(join(home, '.local/share/board/config.json'), 0o600)
  for (const [name, text] of Object.entries({
    password: 'correct horse\n',
    key: 'sk-ant-api03-of-a-test\n',
    'key.txt': 'of-a-test\n',
  }))
    writeFileSync(join(folder, name), text, { mode: 0o600 })
  cpSync('test/fixtures/imports/trello.json', join(folder, 'board.json'))
  cpSync('test/fixtures/imports/tasks.md', join(folder, 'TODO.md'))
  await new Promise<void>(listening => receiver.listen(0, '127.0.0.1', listening))
})
afterAll(async () => {
  if (existsSync(join(home, 'server.pid'))) {
    const pid = Number(readFileSync(join(home, 'server.pid'), 'utf8'))
    process.kill(pid, 'SIGTERM')
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

/** The README's addresses are those of this test's server and receiver, save where a server is told its own. */
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

/** What the shells of a recipe have beside the rest. */
const more: Record<string, () => Record<string, string>> = {
  '### In a CI job': () => ({
    CI: '1',
    GIT_BRANCH: 'main',
    BOARD_TOKEN: readFileSync(join(home, '.board-key'), 'utf8').trim(),
  }),
}
const environment = (head: string): Record<string, string> => ({
  PATH: `${join(root, 'bin')}:${process.env.PATH}`,
  HOME: home,
  LC_ALL: 'C.UTF-8',
  TERM: 'dumb',
  BOARD_ALLOW_PRIVATE_WEBHOOKS: '1',
  GIT_CONFIG_NOSYSTEM: '1',
  ...Object.fromEntries(
    ['AUTHOR', 'COMMITTER'].flatMap(who => [
      [`GIT_${who}_NAME`, 'Ada'],
      [`GIT_${who}_EMAIL`, 'ada@example.org'],
    ]),
  ),
  ...more[head]?.(),
})

describe('the README', () => {
  test.each(blocks)('does what it says: $head: $script', async ({ head, script }) => {
    const ended = await run('bash', ['--norc', '-euo', 'pipefail', '-c', withAddresses(script)], {
      cwd: folder,
      env: environment(head),
    })
    expect(ended.code, `${ended.stdout}${ended.stderr}`).toBe(0)
  })

  test('leads where it says', async () => {
    const board = async (...args: string[]) =>
      JSON.parse(
        (
          await run('bash', ['--norc', '-c', 'board "$@"', 'bash', ...args, '--json'], {
            cwd: folder,
            env: environment(''),
          })
        ).stdout,
      )
    const cards: Array<{ title: string; status: string }> = await board('cards', 'list', '--all', '-P', '1')
    expect(cards.slice(0, 4).map(({ title, status }) => `${title}: ${status}`)).toEqual([
      'My first card: idle',
      'Fix the login: completed',
      'Update the dependencies: completed',
      'The build of main fails: completed',
    ])
    expect(execFileSync('git', ['-C', folder, 'log', '-1', '--format=%s %an'], { encoding: 'utf8' })).toMatch(
      /Fix the login/,
    )
    expect(readFileSync(join(home, 'notified'), 'utf8')).toMatch(/^card\.moved card 1$/m)
    await eventually('the webhook', () => received.includes('/hook'))
    expect((await board('projects', 'list')).map(({ name }: { name: string }) => name)).toEqual(['my-app', 'my-app'])
  })

  test('names no command that is not there, and every command that is not run with its reason', async () => {
    const wrong: string[] = []
    for (const text of mentioned) {
      if (Object.keys(notRun).some(name => text.startsWith(name))) continue
      const lines = boardLines(text)
      if (lines.length === 0 && text !== 'npm test') wrong.push(text)
      for (const words of lines)
        await parsed(words).catch((error: CommanderError) => {
          if (error.exitCode !== 0 && error.code !== 'commander.missingArgument')
            wrong.push(`${text}: ${error.message}`)
        })
    }
    expect(wrong).toEqual([])
    for (const name of Object.keys(notRun)) expect(readme, name).toContain(`\`${name}`)
  })
})
