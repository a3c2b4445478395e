import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { startAgentBoard, type AgentBoard } from '../support/agents/agentBoard.ts'
import { commandLine, type CommandLine } from '../support/commands/commandLine.ts'
import { boardIn, type TerminalOptions, type TestTerminal } from '../support/terminals/terminal.ts'

let board: AgentBoard
let cli: CommandLine
let terminal: TestTerminal

beforeAll(async () => {
  board = await startAgentBoard({
    good: { fixture: 'well-behaved' },
    asking: { fixture: 'permission-first' },
    told: { fixture: 'asks-as-told' },
    planning: { fixture: 'plan-approval' },
    people: { fixture: 'asking-people' },
    forever: { fixture: 'forever' },
    crashing: { fixture: 'crash-in-turn' },
  })
  cli = commandLine({ BOARD_URL: board.url, BOARD_TOKEN: board.token, BOARD_PROJECT: 'Agents' })
})
afterAll(async () => {
  cli.close()
  await board.close()
})
afterEach(async () => {
  terminal.close()
  for (const columnId of Object.values(board.columns))
    await board.client.columns.clear({ projectId: board.projectId, columnId })
})

const open = async (options: TerminalOptions = {}) => {
  terminal = boardIn(['ui'], {
    ...options,
    cwd: cli.home,
    env: { ...cli.env, TERM: 'xterm-256color', ...options.env },
  })
  await terminal.shows('live', 20_000)
}
const add = async (agent: string, input: Parameters<AgentBoard['start']>[1] = {}) =>
  (await board.start(agent, { columnId: board.columns.backlog, deferred: true, ...input })).id

describe('an opened card', () => {
  test('shows its prompt, its messages, and its changes in colors', async () => {
    const id = await add('good', {
      title: 'Write a file',
      prompt: '# Task\nWrite the file.\n\n```\nsome code\n```',
      labels: ['easy'],
    })
    await open()
    terminal.press('enter')
    await terminal.shows('Write the file.')
    expect(terminal.styleAt('Task')).toMatchObject({ bold: true })
    expect(terminal.text()).not.toContain('```')
    await terminal.shows(/easy/)
    terminal.press('r')
    await terminal.shows('✓ completed', 20_000)
    terminal.press('l')
    await terminal.shows('I wrote hello.txt as asked.')
    await terminal.shows('A file is wanted.')
    await terminal.shows(/✓ Write hello\.txt +.*edit/)
    terminal.press('tab')
    await terminal.shows('+hello from turn 1')
    await terminal.shows('1 file changed, 1 inserted, 0 deleted')
    expect(terminal.styleAt('+hello from turn 1')).toMatchObject({ color: 2 })
    terminal.press('h', 'h')
    await terminal.shows('Write the file.')
    terminal.press('escape')
    await terminal.shows(/╭─ In Progress/)
    await terminal.shows(new RegExp(`#${id}  ✓ completed`))
  })

  test('shows changes live', async () => {
    const id = await add('asking', { title: 'Changes later' })
    await open()
    terminal.press('r')
    await terminal.shows(new RegExp(`#${id}  ◆ waiting`), 20_000)
    terminal.press('l', 'enter', 'l')
    await terminal.shows('No changes yet.')
    await board.client.agents.approvePlan({ projectId: board.projectId, cardId: id, approved: true })
    await terminal.shows('+allowed', 20_000)
    await terminal.shows(/allowed\.txt +\+1 -0/)
    await board.until(id, 'that it is read', ({ unread, status }) => !unread && status === 'completed')
  })

  test('answers a question with text, or with one of its options', async () => {
    const ask = [{ question: 'Which database should I use?', options: ['Postgres', 'SQLite'] }]
    const prompt = JSON.stringify({ ask })
    for (const [keys, answer] of [
      [['2'], 'SQLite'],
      [['enter', ...'MySQL', 'enter'], 'MySQL'],
      [['n'], null],
    ] as const) {
      const id = await add('people', { prompt })
      await open()
      terminal.press('L')
      await terminal.shows(new RegExp(`#${id}  ◆ waiting`), 20_000)
      terminal.press('a')
      await terminal.shows('Which database should I use?')
      await terminal.shows('enter answer in your own words, or a number, n let the agent decide')
      terminal.press(...keys)
      await board.untilStatus(id, 'completed')
      expect((await board.messages(id)).at(-1)!.content).toContain(
        JSON.stringify({ answered: true, answer, comment: '' }),
      )
      terminal.close()
      await board.client.columns.clear({ projectId: board.projectId, columnId: board.columns.active })
    }
  })

  test('is live while the agent works, and shows its requests; a approves', async () => {
    const id = await add('asking', { title: 'Needs leave' })
    await open()
    terminal.press('L')
    await terminal.shows(new RegExp(`#${id}  ◆ waiting`), 20_000)
    await terminal.shows('1 waiting')
    terminal.press('enter')
    await terminal.shows('Write allowed.txt')
    terminal.press('a')
    await terminal.shows(`The agent of card ${id} asks`)
    await terminal.shows('y approve, n refuse')
    terminal.press('enter', 'a')
    await add('good', { title: 'Seen after the keys' })
    await terminal.shows('y approve, n refuse')
    expect((await board.card(id)).status).toBe('waiting')
    terminal.press('y')
    await terminal.shows('Written.', 20_000)
    await terminal.shows('✓ completed', 20_000)
  })

  test("shows the command and the agent's own options; a number selects one", async () => {
    const call = { kind: 'execute', title: 'A harmless thing', rawInput: { command: 'rm -rf /' } }
    const id = await add('told', { title: 'Asks to run', prompt: JSON.stringify({ call }) })
    await open()
    terminal.press('r')
    await terminal.shows(new RegExp(`#${id}  ◆ waiting`), 20_000)
    terminal.press('l', 'a')
    await terminal.shows('A harmless thing')
    await terminal.shows('$ rm -rf /')
    await terminal.shows('2 Always allow')
    terminal.press('2')
    await terminal.shows('Answered the agent')
    await board.until(id, 'its end', ({ status }) => status === 'completed')
    expect((await board.messages(id)).at(-1)?.content).toBe('Allowed: always.')
  })

  test('a question with several answers requires a number', async () => {
    const options = ['Postgres', 'SQLite'].map(name => ({ optionId: name, name, kind: 'allow_once' }))
    const call = { kind: 'other', title: 'Which database?' }
    const id = await add('told', { title: 'Asks for a choice', prompt: JSON.stringify({ call, options }) })
    await open()
    terminal.press('r')
    await terminal.shows(new RegExp(`#${id}  ◆ waiting`), 20_000)
    terminal.press('l', 'a')
    await terminal.shows('2 SQLite')
    expect(terminal.text()).not.toContain('y approve')
    terminal.press('y')
    await terminal.shows('Choose an answer: 1 to 2.')
    terminal.press('2')
    await board.until(id, 'its end', ({ status }) => status === 'completed')
    expect((await board.messages(id)).at(-1)?.content).toBe('Allowed: SQLite.')
  })

  test('answers no question before it is shown, and ignores keys that come too early', async () => {
    const id = await add('asking', { title: 'Answered at once' })
    await open()
    terminal.press('r')
    await terminal.shows(new RegExp(`#${id}  ◆ waiting`), 20_000)
    terminal.press('l', 'enter')
    await terminal.shows('Write allowed.txt')
    terminal.press('ay')
    await terminal.shows('y approve, n refuse')
    terminal.press('y')
    await terminal.shows('Written.', 20_000)
  })

  test('a plan is rejected with a message, and the agent answers', async () => {
    const id = await add('planning', { title: 'Plan first' })
    await open()
    terminal.press('r')
    await terminal.shows(new RegExp(`#${id}  ◆ waiting`), 20_000)
    terminal.press('l', 'a')
    await terminal.shows('Ready to code?')
    terminal.press('f', 'Smaller steps, please.', 'enter')
    terminal.press('enter')
    await terminal.shows('What should be different?', 20_000)
    await terminal.shows('Smaller steps, please.')
  })

  test('m sends the agent a message', async () => {
    const id = await add('good', { title: 'Talk', columnId: board.columns.active, deferred: false })
    await board.untilStatus(id, 'completed')
    await open()
    terminal.press('l', 'enter')
    await terminal.shows('as asked.')
    terminal.press('m', 'And now the next one.', 'enter')
    await terminal.shows(`Sent to the agent of card ${id}.`)
    await terminal.shows('And now the next one.')
    await board.untilStatus(id, 'completed')
  })

  test("a message that starts with a slash shows the agents' commands, and tab completes the selected one", async () => {
    const commands = join(board.path, '.claude', 'commands')
    mkdirSync(commands, { recursive: true })
    for (const [name, description] of [
      ['explain', 'Explain the code'],
      ['release:draft', 'Write the notes'],
      ['release:undo', `Take it back${' and on'.repeat(50)}`],
    ])
      writeFileSync(join(commands, `${name}.md`), `${description}\n`)
    const id = await add('forever', { title: 'Commanded' })
    await open()
    terminal.press('m', 'Read a/b')
    await terminal.shows('Read a/b')
    expect(terminal.text()).not.toContain('Explain the code')
    terminal.press('ctrl+u', '/')
    await terminal.shows(/\/explain +Explain the code/)
    terminal.press('REL')
    await terminal.lacks('Explain the code')
    await terminal.shows(/\/release:undo +Take it back and on/)
    terminal.press('down', 'tab')
    await terminal.shows('/release:undo ')
    await terminal.lacks('Write the notes')
    terminal.press('now', 'enter')
    await terminal.shows(`Sent to the agent of card ${id}.`)
    expect((await board.messages(id)).map(({ content }) => content)).toContain('/release:undo now')
    rmSync(commands, { recursive: true })
  })

  test('the settings hide thoughts and kinds of tools', async () => {
    const id = await add('good', { title: 'Quiet', columnId: board.columns.active, deferred: false })
    await board.untilStatus(id, 'completed')
    await board.client.settings.setUser({ agentReasoning: false, hiddenToolTypes: ['edit'] })
    await open()
    terminal.press('l', 'enter')
    await terminal.shows('as asked.')
    expect(terminal.text()).not.toContain('A file is wanted.')
    expect(terminal.text()).not.toMatch(/Write hello\.txt +.*edit/)
    await board.client.settings.setUser({ agentReasoning: true, hiddenToolTypes: [] })
  })
})

describe('agents from the board', () => {
  test('x asks, and cancels the agent', async () => {
    const id = await add('forever', { title: 'Never ends' })
    await open()
    terminal.press('r')
    await terminal.shows(new RegExp(`#${id}  [◐◓◑◒] running`), 20_000)
    terminal.press('l', 'x')
    await terminal.shows(`Cancel the agent of card ${id}?`)
    terminal.press('n')
    await terminal.lacks('Cancel the agent')
    terminal.press('x', 'y')
    await terminal.shows(new RegExp(`#${id}  ⊘ cancelled`), 20_000)
  })

  test('moving a card with a running agent asks first', async () => {
    const id = await add('forever', { title: 'At work', columnId: board.columns.active, deferred: false })
    await board.untilStatus(id, 'running')
    await open()
    terminal.press('l', 'H')
    await terminal.shows(/agent of card \d+ is running and will be stopped/)
    terminal.press('n')
    await terminal.lacks('will be stopped')
    expect((await board.card(id)).status).toBe('running')
    terminal.press('H', 'y')
    await board.untilStatus(id, 'cancelled')
    await terminal.shows(/│▌ At work/)
  })

  test('a failed agent is unread until it is opened, and r continues it', async () => {
    const id = await add('crashing', { title: 'Falls over', columnId: board.columns.active, deferred: false })
    await board.untilStatus(id, 'failed')
    await open()
    await terminal.shows('1 unread')
    await terminal.shows(/│● Falls over/)
    terminal.press('l', 'enter')
    await terminal.shows('✗ failed')
    await board.until(id, 'that it is read', ({ unread }) => !unread)
    terminal.press('escape')
    await terminal.shows('Falls over')
    await terminal.lacks('1 unread')
  })

  test('M merges the branch of a card after a confirmation, and y b copies its name', async () => {
    const id = await add('good', { title: 'To be merged' })
    await open()
    terminal.press('r')
    await terminal.shows(new RegExp(`#${id}  ✓ completed`), 20_000)
    terminal.press('l', 'y', 'b')
    const branch = (await board.card(id)).gitBranch!
    await terminal.shows(`Copied ${branch}`)
    expect(terminal.written).toContain(`\u001b]52;c;${Buffer.from(branch).toString('base64')}\u0007`)
    terminal.press('M')
    // The question wraps at the end of the box, at a place that depends on the length of the number.
    const question = `Merge the branch ${branch} of card ${id} into main, with a merge commit`
    await terminal.shows(new RegExp(`${question.replaceAll(' ', '[\\s│]+')}\\?`))
    await terminal.shows('s yes, squashed into one commit')
    terminal.press('s')
    await terminal.shows(new RegExp(`Merged card ${id} into \\w+\\.`), 20_000)
    await terminal.shows(/Move card \d+ to its done[\s│]+column, and/)
    await terminal.shows('y yes, d only move, n no')
    terminal.press('enter', 'd')
    await terminal.shows(`Moved card ${id} to its done column.`)
    // The notice is shown before the board has read the move, and the last key needs the card in its new column.
    await terminal.shows(/Done ─+ 1/)
    await terminal.shows(new RegExp(`#${id}  ✓ Merged into main`))
    expect(await board.card(id)).toMatchObject({ columnType: 'done', gitBranch: branch })
    terminal.press('l', 'M')
    await terminal.shows('There is nothing new to merge.')
  })

  test('several cards are run at once, and approved for their next step', async () => {
    const ids = [await add('good', { title: 'First' }), await add('good', { title: 'Second' })]
    await open()
    terminal.press('v', 'v', 'r')
    for (const id of ids) await terminal.shows(new RegExp(`#${id}  ✓ completed`), 20_000)
    expect(terminal.text()).toMatch(/In Progress ─+ 2/)
    terminal.press('l', 'V', 'a')
    await terminal.shows('Approved 2 cards.')
    await terminal.shows(/In Progress ─+ 0.*Done ─+ 2/)
  })
})
