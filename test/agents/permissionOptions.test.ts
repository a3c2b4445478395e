import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { parsePermissionParams } from '../../src/agents/acp/permissionParams.ts'
import { startFolderBoard, type AgentBoard } from '../support/agents/agentBoard.ts'
import { eventually } from '../support/waiting/eventually.ts'

const toolCall = { toolCallId: 'call-1', title: 'Deploy', kind: 'execute' }
const optionsOf = (options: unknown) => parsePermissionParams({ sessionId: 's', toolCall, options }).options
const yes = { optionId: 'yes', name: 'Yes', kind: 'allow_once' }

describe('the options of a permission request', () => {
  test.each<[name: string, options: unknown, expected: unknown]>([
    ['keep a known kind', [yes], [{ id: 'yes', name: 'Yes', kind: 'allow_once' }]],
    [
      'are neutral if the kind is unknown',
      [{ ...yes, kind: 'allow_for_today' }],
      [{ id: 'yes', name: 'Yes', kind: 'other' }],
    ],
    ['are neutral if the kind is missing', [{ optionId: 'a', name: 'A' }], [{ id: 'a', name: 'A', kind: 'other' }]],
    [
      'are neutral if the kind is not a text',
      [{ ...yes, kind: { allow: true } }],
      [{ id: 'yes', name: 'Yes', kind: 'other' }],
    ],
    [
      'are named by the ID if the name is missing',
      [{ optionId: 'a', kind: 'allow_once' }],
      [{ id: 'a', name: 'a', kind: 'allow_once' }],
    ],
    [
      'without an ID are omitted',
      [{ name: 'A' }, { optionId: '' }, null, 'b', yes],
      [{ id: 'yes', name: 'Yes', kind: 'allow_once' }],
    ],
    ['of one ID are one option', [yes, yes], [{ id: 'yes', name: 'Yes', kind: 'allow_once' }]],
    [
      'of one ID and several kinds are one neutral option',
      [yes, { optionId: 'yes', name: 'No', kind: 'reject_once' }],
      [{ id: 'yes', name: 'Yes / No', kind: 'other' }],
    ],
    ['are empty if they are missing', undefined, []],
    ['are empty if they are not a list', { yes: true }, []],
  ])('%s', (_name, options, expected) => expect(optionsOf(options)).toEqual(expected))

  test('have names of limited length', () => {
    const [option] = optionsOf([{ ...yes, name: 'x'.repeat(100_000) }])
    expect(option!.name.length).toBeLessThanOrEqual(1000)
    expect(option!.name.endsWith('…')).toBe(true)
  })

  test('belong to a named call', () => {
    expect(() => parsePermissionParams({ options: [yes] })).toThrow('toolCall.toolCallId must be a string')
  })
})

describe('a question with an option of an unknown kind', () => {
  const today = { optionId: 'today', name: 'Allow for today', kind: 'allow_for_today' }
  const no = { optionId: 'no', name: 'Reject', kind: 'reject_once' }
  const asking = (options: unknown) => ({
    fixture: 'permission-first',
    env: { FIXTURE_OPTIONS: JSON.stringify(options) },
  })
  let board: AgentBoard
  beforeAll(async () => {
    board = await startFolderBoard({
      mixed: asking([today, no]),
      neutral: asking([today]),
      empty: asking([]),
    })
  })
  afterAll(() => board.close())
  const ref = (cardId: string) => ({ projectId: board.projectId, cardId })
  const saysOf = async (cardId: string) =>
    eventually(
      'the outcome',
      async () => (await board.messages(cardId)).find(({ content }) => content.startsWith('Outcome: '))?.content,
    )

  test('is shown, requires a choice, and returns the chosen option', async () => {
    const { id } = await board.start('mixed')
    await board.untilStatus(id, 'waiting')
    const { questions } = await board.client.agents.get(ref(id))
    expect(questions[0]!.options).toEqual([
      { id: 'today', name: 'Allow for today', kind: 'other' },
      { id: 'no', name: 'Reject', kind: 'reject_once' },
    ])
    await expect(board.client.agents.approvePlan({ ...ref(id), approved: true })).rejects.toMatchObject({
      status: 400,
      message: expect.stringContaining('optionId is required, because no option is known to allow this'),
    })
    await board.client.agents.approvePlan({ ...ref(id), approved: true, optionId: 'today' })
    expect(await saysOf(id)).toBe('Outcome: today')
  })

  test('is answered with that option also by a rejection that names it', async () => {
    const { id } = await board.start('neutral')
    await board.untilStatus(id, 'waiting')
    await board.client.agents.approvePlan({ ...ref(id), approved: false, optionId: 'today' })
    expect(await saysOf(id)).toBe('Outcome: today')
  })

  test('waits for a user although the policy allows everything', async () => {
    await board.client.projects.update({
      id: board.projectId,
      approvalPolicy: { default: 'allow_in_worktree', allow: [], refuse: [] },
    })
    const { id } = await board.start('neutral')
    await board.untilStatus(id, 'waiting')
  })

  test('and no options at all is cancelled', async () => {
    const { id } = await board.start('empty')
    expect(await saysOf(id)).toBe('Outcome: cancelled')
  })
})
