import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startFolderBoard, type AgentBoard } from '../support/agents/agentBoard.ts'
import { commandLine, type CommandLine } from '../support/commands/commandLine.ts'
import { eventually } from '../support/waiting/eventually.ts'

let board: AgentBoard
let cli: CommandLine

beforeAll(async () => {
  board = await startFolderBoard({ offering: { fixture: 'offering' }, other: { fixture: 'offering' } })
  cli = commandLine({ BOARD_URL: board.url, BOARD_TOKEN: board.token, BOARD_PROJECT: board.projectId })
  await board.client.agentProfiles.create({ name: 'quick', agent: 'offering', model: 'small' })
  await board.client.agents.check({ agent: 'offering' })
  await eventually('the end of a check', async () =>
    (await board.client.agents.providers()).some(({ id, check }) => id === 'offering' && check?.status === 'ok'),
  )
})
afterAll(async () => {
  cli.close()
  await board.close()
})

const nothing = { agent: null, profile: null, model: null, mode: null, effort: null }
const cardOf = async (words: string[], input?: string) =>
  board.client.cards.getFlat({ id: (await cli.ok(['cards', 'add', ...words, '-q'], { input })).trim() })

test('a card is added with an agent, its profile, model, mode and effort, shown with them, and none removes each', async () => {
  const how = ['--agent', 'offering', '--agent-profile', 'quick', '--model', 'big', '--mode', 'bold', '--effort', 'low']
  const chosen = { agent: 'offering', profile: 'quick', model: 'big', mode: 'bold', effort: 'low' }
  const { id } = await cardOf(['Chosen', ...how])
  expect(await cli.json(['cards', 'view', id])).toMatchObject(chosen)
  expect(await cli.ok(['cards', 'view', id])).toContain(
    'agent\toffering\nprofile\tquick\nmodel\tbig\nmode\tbold\neffort\tlow\n',
  )
  await cli.ok(['cards', 'edit', id, '--model', 'small', '--effort', 'none'])
  expect(await board.client.cards.getFlat({ id })).toMatchObject({ ...chosen, model: 'small', effort: null })
  await cli.ok(['cards', 'edit', id, ...how.map(word => (word.startsWith('--') ? word : 'none'))])
  expect(await board.client.cards.getFlat({ id })).toMatchObject(nothing)
})

test('columns, projects and the server accept these options, and show them', async () => {
  await cli.ok(['columns', 'edit', 'In Progress', '--agent', 'offering', '--mode', 'careful', '--effort', 'high'])
  expect(await cli.ok(['columns', 'list'])).toMatch(/\toffering\t+careful, high\n/)
  const made = await cli.json(['columns', 'create', 'Fast', '--type', 'active', '--agent-profile', 'quick'])
  expect(await board.client.columns.list({ projectId: board.projectId })).toContainEqual(
    expect.objectContaining({ id: made.id, profile: 'quick', agent: null }),
  )
  await cli.ok(['projects', 'edit', '--agent', 'offering', '--model', 'big'])
  expect(await cli.json(['projects', 'view'])).toMatchObject({ agent: 'offering', model: 'big' })
  await cli.ok(['projects', 'edit', '--agent', 'none', '--model', 'none'])
  await cli.ok(['columns', 'edit', 'In Progress', '--agent', 'none', '--mode', 'none', '--effort', 'none'])
  await cli.ok(['settings', 'set', 'agents', '-f', 'agent=offering', '-f', 'model=small'])
  expect(await cli.json(['settings', 'get', 'agents'])).toEqual({ ...nothing, agent: 'offering', model: 'small' })
  await cli.ok(['settings', 'set', 'agents', '-f', 'agent=none', '-f', 'model=none'])
  expect(await cli.json(['settings', 'get', 'agents'])).toEqual(nothing)
})

test('the head of a Markdown file and lines of JSON set them for new cards, and flags override them', async () => {
  const file = join(cli.home, 'task.md')
  writeFileSync(file, '---\nagent: offering\nprofile: quick\nmodel: big\nmode: bold\neffort: high\n---\n# A task\n')
  const chosen = { agent: 'offering', profile: 'quick', model: 'big', mode: 'bold', effort: 'high' }
  expect(await cardOf(['-T', file])).toMatchObject({ title: 'A task', ...chosen })
  expect(await cardOf(['-T', file, '--model', 'middle', '--effort', 'none'])).toMatchObject({
    ...chosen,
    model: 'middle',
    effort: null,
  })
  const line = JSON.stringify({ title: 'Of a line', agent: 'offering', model: 'small' })
  expect(await cardOf(['--from', '-'], line)).toMatchObject({ ...nothing, agent: 'offering', model: 'small' })
})

test('an unknown profile, model or setting is rejected by name', async () => {
  const [profile, model, words, key] = [
    await cli.board(['cards', 'add', 'x', '--agent-profile', 'quik']),
    await cli.board(['cards', 'add', 'x', '--agent', 'offering', '--model', 'huge']),
    await cli.board(['columns', 'edit', 'Done']),
    await cli.board(['settings', 'set', 'agents', '-f', 'modell=x']),
  ]
  expect([profile.code, model.code, words.code, key.code]).toEqual([3, 2, 2, 2])
  expect(profile.stderr).toContain('did you mean: quick')
  expect(model.stderr).toContain('must be one of the values that the agent offers: small, middle, big')
  expect(words.stderr).toContain('--agent-profile, --model, --mode, --effort')
})

test('models, modes, efforts and profiles are completed for the effective agent', async () => {
  const complete = async (...words: string[]) =>
    (await cli.ok(['__complete', '--', ...words, ''])).split('\n').flatMap(line => line.split('\t')[0] || [])
  const { id } = await cardOf(['Completed', '--agent', 'offering'])
  expect(await complete('cards', 'edit', id, '--model')).toEqual(['small', 'middle', 'big'])
  expect(await complete('cards', 'add', '--agent', 'offering', '--effort')).toEqual(['low', 'middle', 'high'])
  expect(await complete('cards', 'add', '--agent-profile', 'quick', '--mode')).toContain('bold')
  expect(await complete('cards', 'edit', id, '--agent', 'other', '--model')).toEqual([])
  expect(await complete('columns', 'edit', 'Done', '--agent-profile')).toEqual(['quick'])
  await board.client.projects.update({ id: board.projectId, agent: 'other' })
  expect(await complete('cards', 'add', '--model')).toEqual([])
})
