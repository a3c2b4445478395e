import { copyFileSync, existsSync, mkdirSync, readFileSync, symlinkSync } from 'node:fs'
import { createServer, type AddressInfo, type Socket } from 'node:net'
import { join, resolve } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { loadAll } from '../../cli/parsing/loadCommands.ts'
import { createProgram } from '../../cli/program.ts'
import { commandLine, run, type CommandLine } from '../support/commands/commandLine.ts'
import { insertMonitor } from '../../src/store/automation/monitors.ts'
import { startBoard, type TestBoard } from '../support/servers/testBoard.ts'
import { programs } from '../support/commands/programs.ts'

const root = resolve(import.meta.dirname, '..', '..')
const plain = /^[A-Za-z0-9][A-Za-z0-9._-]*$/

/** Names that would do harm in a shell that evaluates them. `MARK` becomes a file that must never exist. */
const hostile = [
  '$(touch MARK)',
  '`touch MARK`',
  ';touch MARK',
  '| touch MARK',
  '&& touch MARK #',
  '"; touch MARK; "',
  "'; touch MARK; '",
  'a\ntouch MARK\n',
  'tab\tbed',
  '  spaces  ',
  '--yes',
  '-rf',
  '*',
  '~',
  '$HOME',
  '%F{red}%n',
  '\\n\\t',
  'x:y:z',
  '>MARK',
  '\u001b[31mred',
  '\u202eright',
  ':files',
  '!!',
  '{a,b}',
  '=ls',
]

/** For each shell, a program that reads command lines, one per line with words separated by \x1f, and prints the candidates of each below `>>>`. */
const drivers: Record<string, { args: string[]; script: string }> = {
  bash: {
    args: ['--norc', '--noprofile', '-c'],
    script: `source "$FILES/board.bash"
      while IFS= read -r line; do
        IFS=$'\\x1f' read -r -a COMP_WORDS <<< "$line"; [[ $line == *$'\\x1f' ]] && COMP_WORDS+=('')
        COMP_CWORD=$(( \${#COMP_WORDS[@]} - 1 )); COMPREPLY=(); _board
        echo '>>>'; (( \${#COMPREPLY[@]} )) && printf '%s\\n' "\${COMPREPLY[@]}"
      done; true`,
  },
  zsh: {
    args: ['-f', '-c'],
    script: `compdef() { }; compset() { return 1 }; _files() { print -r -- ":files" }
      compadd() { print -rl -- "\${(@P)argv[-1]}" }
      source "$FILES/_board"
      while IFS= read -r line; do
        words=("\${(@ps:\\x1f:)line}"); CURRENT=$#words
        echo '>>>'; _board
      done; true`,
  },
  fish: {
    args: ['--no-config', '-c'],
    script: `source "$FILES/board.fish"
      while read -l line
        echo '>>>'
        complete -C (string replace -a \\x1f ' ' -- $line) | string replace -r '\\t.*' ''
      end`,
  },
}

let server: TestBoard
let cli: CommandLine
let mark: string
let folder: string
let backup: string
const lines = {
  columns: 'board cards list -c ',
  cards: 'board cards view ',
  projects: 'board projects view ',
  keys: 'board keys revoke ',
  templates: 'board boards create x --template ',
  scripts: 'board scripts run ',
  monitors: 'board monitors delete 1 ',
  webhooks: 'board webhooks deliveries ',
  organizations: 'board orgs view ',
  credentials: 'board credentials view ',
}

beforeAll(async () => {
  server = await startBoard()
  folder = server.folder('work')
  const bin = server.folder('bin')
  symlinkSync(join(root, 'bin', 'board.js'), join(bin, 'board'))
  cli = commandLine({
    BOARD_URL: server.url,
    BOARD_TOKEN: server.token,
    BOARD_PROJECT: '1',
    FILES: join(root, 'completions'),
    PATH: `${bin}:${process.env.PATH}`,
  })
  mark = join(folder, 'MARK')
  await fillWithHostileNames()
})
afterAll(async () => {
  cli.close()
  await server.close()
})

async function fillWithHostileNames(): Promise<void> {
  const { client } = server
  const { id: projectId } = await client.projects.create({ name: 'plain-project', path: folder })
  const boardId = (await client.boards.list({ projectId }))[0]!.id
  backup = (await client.backups.create()).filename
  for (const name of hostile)
    if (!name.includes('/'))
      copyFileSync(join(server.dataDir, 'backups', backup), join(server.dataDir, 'backups', `${name}.tar.gz`))
  for (const name of hostile.map(each => each.replaceAll('MARK', mark))) {
    await client.projects.create({ name, path: folder })
    await client.columns.create({ projectId, boardId, name, columnType: 'done' })
    await client.cards.create({ projectId, title: name })
    await client.keys.create({ name, scope: 'project', projectId, permissions: ['cards.read'] })
    await client.templates.create({ name, columns: [] })
    await client.scripts.create({ projectId, name, command: name })
    await client.webhooks.create({
      projectId,
      url: new URL(`http://127.0.0.1:1/?${name}`).href,
      events: ['card.moved'],
    })
    await client.organizations.create({ name })
    await client.credentials.create({ name, provider: 'openai', apiKey: 'sk-of-a-test' })
    await server.server.app.db.transaction(tx =>
      insertMonitor(tx, {
        projectId: Number(projectId),
        cardId: 1,
        command: name,
        intervalSecs: 60,
        description: null,
        cwd: '/',
        byAgent: false,
      }),
    )
  }
}

const has = async (shell: string): Promise<boolean> =>
  (await run(shell, ['--version'], { env: cli.env }).catch(() => ({ code: 1 }))).code === 0

/** The candidates of a shell for each command line. */
async function offered(
  shell: string,
  commandLines: readonly string[],
  env: Record<string, string> = {},
): Promise<string[][]> {
  const { args, script } = drivers[shell]!
  const { stdout, stderr } = await run(shell, [...args, script], {
    input: commandLines.map(line => `${line.replaceAll(' ', '\x1f')}\n`).join(''),
    env: { ...cli.env, ...env },
    cwd: folder,
  })
  expect(stderr).toBe('')
  return stdout
    .split('>>>\n')
    .slice(1)
    .map(part => part.split('\n').filter(Boolean))
}

/** Every command with subcommands, as a command line, and the names of those. */
async function tree(): Promise<Map<string, string[]>> {
  const program = await loadAll(createProgram(programs))
  const all = new Map([['board ', program.commands.map(each => each.name())]])
  for (const noun of program.commands)
    if (noun.commands.length > 0)
      all.set(
        `board ${noun.name()} `,
        noun.commands.map(each => each.name()),
      )
  return all
}

describe.each(Object.keys(drivers))('in %s', shell => {
  test('the files offer exactly the commands of the program', async context => {
    if (!(await has(shell))) {
      console.warn(`SKIPPED: ${shell} is not installed here`)
      return context.skip(`${shell} is not installed`)
    }
    const commands = await tree()
    const found = await offered(shell, [...commands.keys()])
    expect([...commands.keys()].map((line, at) => [line, found[at]!.toSorted()])).toEqual(
      [...commands].map(([line, names]) => [line, names.toSorted()]),
    )
  })

  test('candidates are plain words, regardless of the names on a board, and no part of a name is executed', async context => {
    if (!(await has(shell))) {
      console.warn(`SKIPPED: ${shell} is not installed here`)
      return context.skip(`${shell} is not installed`)
    }
    const typed = hostile
      .slice(0, 8)
      .filter(each => !each.includes('\n'))
      .map(each => `board cards list -c ${each.replaceAll('MARK', mark).replaceAll(' ', '')}`)
    const found = await offered(shell, [...Object.values(lines), ...(shell === 'fish' ? [] : typed)])
    expect(existsSync(mark)).toBe(false)
    const live = found.slice(0, Object.keys(lines).length)
    expect(live.map(candidates => candidates.length >= hostile.length)).toEqual(live.map(() => true))
    expect(live.flat().filter(candidate => !plain.test(candidate))).toEqual([])
    expect(found[2]).toContain('plain-project')
  })

  test('hostile file names in the backups folder are not offered, and backups are offered by name', async context => {
    if (!(await has(shell))) {
      console.warn(`SKIPPED: ${shell} is not installed here`)
      return context.skip(`${shell} is not installed`)
    }
    const found = await offered(shell, ['board backups download ', 'board backups restore '])
    expect(found[0]).toEqual([backup])
    expect(existsSync(mark)).toBe(false)
  })

  test('values of options are completed after a space and after =', async context => {
    if (!(await has(shell))) {
      console.warn(`SKIPPED: ${shell} is not installed here`)
      return context.skip(`${shell} is not installed`)
    }
    const [spaced, joined, status, option, fields] = await offered(shell, [
      'board cards list --column Bac',
      'board cards list --column=Bac',
      'board cards list -s run',
      'board cards list --sea',
      'board cards list --json id,ti',
    ])
    expect(spaced).toEqual(['Backlog'])
    expect(joined!.map(each => each.replace('--column=', ''))).toEqual(['Backlog'])
    expect(status).toEqual(['running'])
    expect(option).toEqual(['--search'])
    expect(fields).toEqual(['id,title'])
  })
})

test('bash shows the names next to the ids only where it lists candidates', async context => {
  if (!(await has('bash'))) {
    console.warn('SKIPPED: bash is not installed here')
    return context.skip('bash is not installed')
  }
  const [[listed], [completed]] = await Promise.all([
    offered('bash', ['board cards list -c '], { COMP_TYPE: '63' }),
    offered('bash', ['board cards list -c '], { COMP_TYPE: '9' }),
  ])
  expect(listed).toContain('2  (In Progress)')
  expect(completed).toContain('2')
  expect(existsSync(mark)).toBe(false)
})

describe('the program', () => {
  const ask = (words: string[], env: Record<string, string> = {}) => cli.board(['__complete', '--', ...words], { env })

  test('describes ids by their sanitized names', async () => {
    const { stdout } = await ask(['cards', 'view', ''])
    expect(stdout).toMatch(/^\d+\t\$\(touch /m)
    expect(stdout).not.toMatch(/[\u001b\u202e]/)
    for (const line of stdout.trimEnd().split('\n')) expect(line).toMatch(/^\d+\t[^\t]*$/)
  })

  test('leaves files and folders to the shell', async () => {
    expect((await ask(['cards', 'add', 'x', '--prompt-file', ''])).stdout).toBe(':files\n')
    expect((await ask(['projects', 'create', 'x', '--path', ''])).stdout).toBe(':folders\n')
  })

  test('offers no card twice, and uses the project of -P', async () => {
    const ids = (await ask(['cards', 'archive', ''])).stdout.split('\n').map(line => line.split('\t')[0])
    const rest = (await ask(['cards', 'archive', ids[0]!, ''])).stdout.split('\n').map(line => line.split('\t')[0])
    expect(rest).toEqual(ids.slice(1))
    expect((await ask(['-P', '2', 'cards', 'view', ''])).stdout).toBe('')
  })

  test('is silent without a server, without a sign-in, and for unknown words', async () => {
    const silent = { code: 0, stdout: '', stderr: '' }
    expect(await ask(['cards', 'view', ''], { BOARD_URL: 'http://127.0.0.1:1' })).toEqual(silent)
    expect(await ask(['cards', 'view', ''], { BOARD_TOKEN: 'svc_st_wrong' })).toEqual(silent)
    expect(await ask(['no', 'such', ''])).toEqual(silent)
    expect(await ask(['--url', 'not an address', 'cards', 'view', ''])).toEqual(silent)
  })

  test('answers within 300 ms, and does not wait for a server that hangs', async () => {
    const usual = { BOARD_COMPLETION_TIMEOUT_MS: '' }
    const sockets = new Set<Socket>()
    const hanging = createServer(socket => {
      sockets.add(socket)
    }).listen(0, '127.0.0.1')
    await new Promise(done => {
      hanging.once('listening', done)
    })
    const { port } = hanging.address() as AddressInfo
    const bareMs = await quickest(() => run(process.execPath, ['-e', '0'], { env: cli.env }))
    expect(await quickest(() => ask(['cards', 'view', ''], usual))).toBeLessThan(Math.max(300, 6 * bareMs))
    expect(
      await quickest(() => ask(['cards', 'view', ''], { ...usual, BOARD_URL: `http://127.0.0.1:${port}` })),
    ).toBeLessThan(Math.max(500, 10 * bareMs))
    for (const socket of sockets) socket.destroy()
    hanging.close()
  })
})

/** The shortest of five durations, in ms: the others include the load of this machine. */
async function quickest(action: () => Promise<unknown>): Promise<number> {
  let bestMs = Infinity
  for (let round = 0; round < 5; round++) {
    const startedAtMs = performance.now()
    await action()
    bestMs = Math.min(bestMs, performance.now() - startedAtMs)
  }
  return bestMs
}

test('board completion prints the files, and --install installs them', async () => {
  for (const [shell, file, place] of [
    ['bash', 'board.bash', '.local/share/bash-completion/completions/board'],
    ['zsh', '_board', '.local/share/zsh/site-functions/_board'],
    ['fish', 'board.fish', '.config/fish/completions/board.fish'],
  ] as const) {
    const text = readFileSync(join(root, 'completions', file), 'utf8')
    expect(await cli.ok(['completion', shell])).toBe(text)
    mkdirSync(join(cli.home, '.config'), { recursive: true })
    expect(await cli.ok(['completion', shell, '--install'])).toBe(`${join(cli.home, place)}\n`)
    expect(readFileSync(join(cli.home, place), 'utf8')).toBe(text)
  }
  expect((await cli.board(['completion', 'tcsh'])).code).toBe(2)
})
