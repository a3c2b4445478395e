import { readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { end } from '../../src/domain/agents/sessions.ts'
import { endedSession, newCard as newCardOfItsOwn, newSession } from '../support/agents/agentRows.ts'
import { startAgentBoard, type AgentBoard } from '../support/agents/agentBoard.ts'
import { commandLine, type CommandLine } from '../support/commands/commandLine.ts'
import { eventually } from '../support/waiting/eventually.ts'
import { startOnTerminal, type OnTerminal } from '../support/terminals/onTerminal.ts'

let board: AgentBoard
let cli: CommandLine
const terminals: OnTerminal[] = []
const program = resolve('bin/board.js')
const bell = '\u0007'

beforeAll(async () => {
  board = await startAgentBoard({ good: { fixture: 'well-behaved' }, asking: { fixture: 'permission-first' } })
  cli = commandLine({ BOARD_URL: board.url, BOARD_TOKEN: board.token, BOARD_PROJECT: board.projectId })
})
afterEach(async () => {
  for (const terminal of terminals.splice(0)) terminal.close()
  await board.client.notifications.set({ desktop: true, sound: true, agentCompleted: true })
})
afterAll(async () => {
  cli.close()
  await board.close()
})

function onTerminal(file: string, args: readonly string[], env: Record<string, string> = {}): OnTerminal {
  const terminal = startOnTerminal(file, args, {
    cwd: cli.home,
    env: { ...cli.env, TERM: 'xterm-256color', NO_COLOR: '1', ...env },
  })
  terminals.push(terminal)
  return terminal
}
const boardOn = (args: readonly string[], env?: Record<string, string>) =>
  onTerminal(process.execPath, [program, ...args], env)
const newCard = async (title: string) =>
  (await board.client.cards.create({ projectId: board.projectId, title, deferred: true })).id
/** Ends a session of a new card, as if its agent had. */
async function completes(title: string): Promise<string> {
  const cardId = await newCard(title)
  await endedSession(board, { projectId: board.projectId, cardId }, 'completed')
  return cardId
}
/** Completes cards with this title until one is seen: the follower might start a little later. */
async function completesUntil(isSeen: () => boolean, title: string): Promise<void> {
  await eventually('the notification', async () => {
    await completes(title)
    await eventually('a sign of it', isSeen, 300).catch(() => {
      /* The next one. */
    })
    return isSeen()
  })
}
/** Follows the events on a terminal until the notification of a card with this title is complete. */
async function following(title: string, env?: Record<string, string>): Promise<string> {
  const shown = boardOn(['events', '--type', 'notification'], env)
  await eventually('the following', () => shown.text.includes('Press Ctrl-C to stop'), 10_000)
  await completesUntil(() => shown.text.includes('work.\r\n'), title)
  return shown.text
}
const countOf = (text: string, part: string) => text.split(part).length - 1

test('a user who follows events on a terminal gets the bell and the title, and foreign text does not control the terminal', async () => {
  const text = await following('Fix \u001b]0;owned\u0007\u009b31m it')
  expect(text).toContain(`${bell}\u001b]2;Fix ␛]0;owned␇\ufffd31m it: The agent has completed its work.\u001b\\`)
  expect(text).not.toContain('\u001b]0;')
  expect(text).not.toContain('\u009b')
})

test.each([
  [
    'a terminal that shows it as a desktop notification',
    { TERM_PROGRAM: 'WezTerm' },
    '\u001b]9;board: Told: The agent has completed its work.\u001b\\',
  ],
  ['kitty', { TERM: 'xterm-kitty' }, '\u001b]9;board: Told: The agent has completed its work.\u001b\\'],
  ['foot', { TERM: 'foot' }, '\u001b]777;notify;board;Told: The agent has completed its work.\u001b\\'],
  [
    'such a terminal with tmux in it',
    { TERM: 'tmux-256color', TMUX: 'inside', TERM_PROGRAM: 'WezTerm' },
    '\u001b]2;Told: The agent has completed its work.\u001b\\',
  ],
])('%s gets its own form of the notification', async (_, env, expected) => {
  expect(await following('Told', env)).toContain(bell + expected)
})

test('the settings disable each of them', async () => {
  await board.client.notifications.set({ sound: false })
  const silent = await following('Silent')
  expect([countOf(silent, bell), silent.includes('\u001b]2;Silent')]).toEqual([0, true])
  await board.client.notifications.set({ sound: true, desktop: false })
  const invisible = await following('Invisible')
  expect([countOf(invisible, bell) > 0, invisible.includes('\u001b]2;')]).toEqual([true, false])
})

test('a dumb terminal and --quiet get no notification', async () => {
  const dumb = await following('Dumb', { TERM: 'dumb' })
  expect([countOf(dumb, bell), countOf(dumb, '\u001b]')]).toEqual([0, 0])
  const quiet = boardOn(['events', '--type', 'notification', '-q'])
  await completesUntil(() => /\d+\r\n/.test(quiet.text), 'Quiet')
  expect(quiet.text).toMatch(/^(\d+\r\n)+$/)
})

test.each([
  ['stdout', 'events | cat'],
  ['stderr', 'events 2>told'],
])('no notification is sent if %s is not a terminal', async (_, command) => {
  const shown = onTerminal('sh', ['-c', `"$0" "$1" ${command}`, process.execPath, program])
  await completesUntil(() => shown.text.includes('notification'), 'Piped')
  expect(shown.text).not.toContain(bell)
  expect(shown.text).not.toContain('\u001b]')
  if (command.includes('2>')) expect(readFileSync(join(cli.home, 'told'), 'utf8')).not.toContain(bell)
})

test('no notification is sent in a pipe that is forced to be a terminal', async () => {
  const going = cli.start(['events'], { BOARD_FORCE_TTY: '100' })
  await completesUntil(() => going.stdout.includes('notification'), 'Forced')
  expect(going.stdout + going.stderr).not.toContain(bell)
})

test('cards wait rings when its card is done, before it ends', async () => {
  const card = await newCardOfItsOwn(board, 'Awaited')
  const { cardId } = card
  const session = await newSession(board, card)
  await board.server.app.db.transaction(tx =>
    tx.run(`UPDATE cards SET status = 'running' WHERE id = ?`, [Number(cardId)]),
  )
  const shown = boardOn(['cards', 'wait', cardId, '--debug'], { BOARD_PROJECT: card.projectId })
  // The command reads the card once more after each change.
  await eventually('the waiting', () => countOf(shown.text, `/cards/${cardId} 200`) > 2, 10_000)
  await board.server.app.db.transaction(tx => end(tx, board.server.app.supervisor, session.id, { status: 'completed' }))
  await eventually('the end', () => shown.code !== undefined, 10_000)
  expect([
    shown.code,
    countOf(shown.text, bell),
    shown.text.includes('\u001b]2;Awaited: The agent has completed its work.'),
  ]).toEqual([0, 1, true])
})

test('cards run --wait and --follow ring once', async () => {
  for (const [flag, agent] of [
    ['--wait', 'good'],
    ['--follow', 'asking'],
  ] as const) {
    const { id } = await board.client.cards.create({ projectId: board.projectId, title: `Run ${flag}`, agent })
    const shown = boardOn(['cards', 'run', id, flag])
    await eventually('the end', () => shown.code !== undefined, 20_000)
    expect([flag, shown.code, countOf(shown.text, bell), countOf(shown.text, `\u001b]2;Run ${flag}: `)]).toEqual([
      flag,
      agent === 'good' ? 0 : 1,
      1,
      1,
    ])
  }
})

test('agents messages -f rings for every card', async () => {
  const cardId = await newCard('Followed')
  const shown = boardOn(['agents', 'messages', cardId, '-f'])
  await eventually('the following', () => shown.text.includes('Press Ctrl-C to stop'), 10_000)
  await completesUntil(() => shown.text.includes(bell), 'Another')
  expect(shown.text).toContain('\u001b]2;Another: ')
})

test("notification settings are read and changed like the other settings; a new URL's secret is printed once", async () => {
  expect(
    await cli.ok([
      'settings',
      'set',
      'notifications',
      '-f',
      'sound=false',
      '-f',
      'webhookUrl=https://hooks.example.org/mine',
    ]),
  ).toMatch(/^whsec_\S+\n$/)
  expect(await cli.ok(['settings', 'set', 'notifications', '-f', 'sound=true'])).toBe('')
  expect(await cli.json(['settings', 'get', 'notifications'])).toEqual({
    agentCompleted: true,
    agentFailed: true,
    agentWaiting: true,
    monitorFailing: true,
    mentioned: true,
    commented: true,
    assigned: true,
    due: true,
    scheduleDisabled: true,
    budget: true,
    desktop: true,
    sound: true,
    webhookUrl: 'https://hooks.example.org/mine',
  })
  await cli.ok(['settings', 'set', 'notifications', '-f', 'webhookUrl=null'])
  expect(await cli.board(['settings', 'set', 'notifications', '-f', 'sound=loud'])).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('sound'),
  })
  expect(await cli.board(['settings', 'set', 'notifications', '-f', 'webhookUrl=nowhere'])).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('webhookUrl must be a URL'),
  })
})
