import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startAgentBoard, type AgentBoard } from '../support/agents/agentBoard.ts'
import { commandLine, type CommandLine } from '../support/commands/commandLine.ts'

let board: AgentBoard
let cli: CommandLine
beforeAll(async () => {
  board = await startAgentBoard({ reviewed: { fixture: 'reviewed' } })
  cli = commandLine({ BOARD_URL: board.url, BOARD_TOKEN: board.token, BOARD_PROJECT: board.projectId })
})
afterAll(async () => {
  cli.close()
  await board.close()
})

/** A card whose agent wrote three lines to notes.txt. */
async function worked(): Promise<string> {
  const { id } = await board.start('reviewed')
  await board.untilStatus(id, 'completed')
  return id
}
const reviewed = (id: string, ...args: string[]) => cli.board(['cards', 'review', id, ...args])

test("comments are collected in a draft, sent as one review, and shown with the agent's answers", async () => {
  const id = await worked()
  expect(await cli.ok(['cards', 'review', id])).toBe(`Card ${id}: not reviewed yet\n`)
  await cli.ok(['cards', 'review', id, '--file', 'notes.txt', '--line', '1-2', '-m', 'Why two?'])
  const list = join(board.folder('lists'), 'comments')
  writeFileSync(
    list,
    'notes.txt:3: Leave it out.\n\n{"path": "notes.txt", "line": 1, "body": "Say \\u001b[2J more."}\n',
  )
  const added = await reviewed(id, '-F', list, '-m', 'Nearly.')
  expect(added.stderr).toContain('has 3 comments')
  expect(await cli.ok(['cards', 'review', id])).toContain('Your draft\n\n  Nearly.\n\n  notes.txt:1-2\n  Why two?\n')
  const sent = await cli.json<{ id: string; verdict: string; round: number }>([
    'cards',
    'review',
    id,
    '--request-changes',
  ])
  expect(sent).toMatchObject({ verdict: 'request_changes', round: 1 })
  await board.until(id, 'a new look', ({ reviewState }) => reviewState === 'pending')
  const shown = await cli.ok(['cards', 'review', id], { env: { BOARD_FORCE_TTY: '100', PAGER: 'cat' } })
  expect(shown).toContain(`Card ${id}: awaits a review (round 1)`)
  expect(shown).toContain('notes.txt:1-2 [resolved]\n  > one\n  > two\n  Why two?\n\n  Answer: Done: Why two?\n')
  expect(shown).not.toContain('\u001b[2J')
  expect(await cli.ok(['cards', 'review', id, '-q'])).toBe(`${sent.id}\n`)
  expect((await cli.ok(['cards', 'review', id, '--list'])).split('\t')[0]).toBe(String(sent.id))
  expect((await reviewed(id, '--list', '--approve')).code).toBe(2)
  expect(await cli.ok(['cards', 'diff', id, '--stat'])).toBe('notes.txt\t4\t0\n')
  expect(await cli.ok(['cards', 'diff', id, '--stat', '--since', sent.id])).toBe('notes.txt\t1\t0\n')
  expect((await cli.board(['cards', 'diff', id, '--since', 'last'])).code).toBe(2)
  expect((await reviewed(id, '--approve')).stderr).toContain('Approved card')
  expect(await cli.ok(['cards', 'view', id])).toContain('reviewState\tapproved (round 1)\n')
  expect(await cli.json(['cards', 'view', id])).toMatchObject({
    reviewState: 'approved',
    reviewRound: 1,
  })
  expect((await cli.json<unknown[]>(['cards', 'review', id])).length).toBe(2)
})

test('a draft with a line outside the diff is rejected by name, is kept, and can be deleted', async () => {
  const id = await worked()
  await cli.ok(['cards', 'review', id, '--file', 'notes.txt', '--line', '99', '-m', 'Where?'])
  const refused = await reviewed(id, '--send')
  expect(refused.code).not.toBe(0)
  expect(refused.stderr).toContain('line 99 of "notes.txt"')
  expect(await cli.ok(['cards', 'review', id])).toContain('notes.txt:99')
  await cli.ok(['cards', 'review', id, '--drop'])
  expect(await cli.ok(['cards', 'review', id])).toBe(`Card ${id}: not reviewed yet\n`)
})

test.each<[string, string[]]>([
  ['a line without a file', ['--line', '3', '-m', 'x']],
  ['a file without a line', ['--file', 'a', '-m', 'x']],
  ['a file without a text', ['--file', 'a', '--line', '3']],
  ['an invalid line', ['--file', 'a', '--line', 'x', '-m', 'y']],
  ['a reversed range', ['--file', 'a', '--line', '5-3', '-m', 'y']],
  ['two verdicts', ['--approve', '--request-changes']],
  ['an empty text', ['-m', ' ']],
])('%s is a usage error', async (_, args) => {
  expect((await reviewed('1', ...args)).code).toBe(2)
})

test('a comment on a line outside the diff is rejected, with the command that shows the diff', async () => {
  const id = await worked()
  for (const place of [
    ['--file', 'other.txt', '--line', '1'],
    ['--file', 'notes.txt', '--line', '90'],
  ]) {
    const { code, stderr } = await reviewed(id, ...place, '-m', 'Why?', '--send')
    expect(code).toBe(2)
    expect(stderr).toMatch(/^board: comment 1 names .*which the diff/)
    expect(stderr).toMatch(new RegExp(`\\nsee: board cards diff ${id}\\n$`))
  }
})

test('a rejected review leaves the draft unchanged for a correction', async () => {
  const id = await worked()
  await cli.ok(['cards', 'review', id, '-m', 'First.'])
  for (const where of ['90', '2'])
    await reviewed(id, '--file', 'notes.txt', '--line', where, '-m', `Line ${where}.`, '--send')
  const [sent] = await cli.json<{ body: string; comments: { body: string }[] }[]>(['cards', 'review', id])
  expect(sent).toMatchObject({ body: 'First.', comments: [{ body: 'Line 2.' }] })
})

test('an empty review explains how to add a comment, and a draft has no id to print', async () => {
  const id = await worked()
  for (const verdict of ['--send', '--request-changes'])
    expect(await reviewed(id, verdict)).toMatchObject({
      code: 2,
      stderr: `board: there is nothing to send: you have no draft for card ${id}\nadd a comment: board cards review ${id} ${verdict} -m "Why twice?"\n`,
    })
  expect(await reviewed(id, '-m', 'Nearly.', '-q')).toEqual({ code: 0, stdout: '', stderr: '' })
})

test("a linter's output is a list of comments, with the number of problems at its end", async () => {
  const id = await worked()
  const list = join(board.folder('lists'), 'linted')
  writeFileSync(list, 'notes.txt:3:5: Variable is never used. [Warning/no-unused-vars]\n\n1 problem\n')
  expect((await reviewed(id, '-F', list, '--send')).stderr).toContain('Sent with 1 comment.')
})
