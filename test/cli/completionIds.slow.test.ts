import type { Argument, Command, Option } from 'commander'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { isListed } from '../../cli/help/completionValues.ts'
import { loadAll } from '../../cli/parsing/loadCommands.ts'
import { createProgram } from '../../cli/program.ts'
import { writeOffers } from '../../src/store/agents/agentOffers.ts'
import { newSession } from '../support/agents/agentRows.ts'
import { commandLine, type CommandLine } from '../support/commands/commandLine.ts'
import { nameOf, wordsOf, type Named } from '../support/commands/commandWords.ts'
import type { TestBoard } from '../support/servers/testBoard.ts'
import { monitored, seed, startSlotlessBoard } from '../support/contract/seed.ts'
import { programs } from '../support/commands/programs.ts'

/** An argument or option with a value: the command line before the value, and its name in the help. */
interface Taker {
  name: string
  placeholder: string
  before: () => string[]
}

/** Arguments that users invent, or that no command lists. */
const free = [
  'action',
  'agent[:profile',
  'amount',
  'answer',
  'arguments',
  'branch',
  'claim',
  'code',
  'command',
  'description',
  'domain',
  'email',
  'expression',
  'fields',
  'group',
  'groups',
  'header',
  'host',
  'id',
  'key',
  'key=value',
  'lines',
  'list=column',
  'message',
  'name',
  'name: value',
  'name:type',
  'name=folder',
  'name=variable',
  'number',
  'option',
  'path',
  'pattern',
  'port',
  'prefix',
  'scope',
  'seconds',
  'seq',
  'size',
  'source',
  'steps',
  'text',
  'time',
  'title',
  'url',
  'value',
  'what',
  'when',
  'words',
  'zone',
]
/** The key's name is an existing one in `keys rotate`, and a new one in all other commands. */
const listedHere = /^keys /
/** No command lists deleted cards. */
const empty = ['cards restore <cards>']

let board: TestBoard
let cli: CommandLine
let named: Named
let takers: Taker[]
let sessionId: string

beforeAll(async () => {
  board = await startSlotlessBoard()
  await board.client.auth.setup({ email: 'ada@example.org', password: 'correct horse' })
  const seeded = await seed(board)
  named = { ...seeded, file: '', invitation: '', markdown: '', folder: '' }
  named.monitorId = await monitored(board, { projectId: seeded.projectId, cardId: seeded.activeCardId }, 'pending')
  named.backup = (await board.client.backups.create()).filename
  const dueAt = '2026-01-01T00:00:00Z'
  await board.client.cards.update({ projectId: seeded.projectId, cardId: seeded.cardId, labels: ['bug'], dueAt })
  const offered = JSON.stringify([{ id: 'small', name: 'Small' }])
  await board.server.app.db.transaction(tx =>
    writeOffers(tx, {
      host: tx.host ?? '',
      agent: 'claude',
      profile: '',
      models: offered,
      modes: offered,
      efforts: offered,
    }),
  )
  await board.client.settings.setAgents({ agent: 'claude' })
  sessionId = String((await newSession(board, seeded, { status: 'completed' })).id)
  cli = commandLine({ BOARD_URL: board.url, BOARD_TOKEN: board.token, BOARD_PROJECT: seeded.projectId })
  await cli.ok(['profile', 'set', 'home', '--url', board.url])
  takers = leaves(await loadAll(createProgram(programs))).flatMap(takersOf)
})
afterAll(async () => {
  cli.close()
  await board.close()
})

const leaves = (command: Command): Command[] =>
  command.commands.length > 0 ? command.commands.flatMap(leaves) : [command]
const isPath = (placeholder: string) => /^(files?|folder)$/.test(placeholder)
const isFree = ({ name, placeholder }: Taker) =>
  free.includes(placeholder) && !(placeholder === 'key' && listedHere.test(name))

/** The arguments and options of a command whose value is neither a file nor one of a few known words. */
function takersOf(command: Command): Taker[] {
  const name = nameOf(command)
  const words = (count: number) =>
    count === 0 ? name.split(' ') : wordsOf(command, named).slice(0, name.split(' ').length + count)
  const ofArguments = command.registeredArguments.map((each, at) => ({
    each,
    name: `${name} <${each.name()}>`,
    placeholder: each.name(),
    before: () => words(at),
  }))
  const ofOptions = command.options
    .filter(option => option.required || option.optional)
    .map(each => ({
      each,
      name: `${name} ${each.long}`,
      placeholder: /[<[]([^>\].]+)/.exec(each.flags)![1]!,
      before: () => [...words(command.registeredArguments.length), each.long!],
    }))
  return [...ofArguments, ...ofOptions].filter(
    ({ each, placeholder }: { each: Argument | Option; placeholder: string }) =>
      !each.argChoices && !isPath(placeholder),
  )
}

test('every argument and option accepts values that completion lists, a file, a known word, or free text', () => {
  expect(takers.filter(taker => !isListed(taker.placeholder) && !isFree(taker)).map(({ name }) => name)).toEqual([])
})

test('every argument with a list command completes the existing values', async () => {
  const asked = takers.filter(taker => isListed(taker.placeholder) && !isFree(taker) && !empty.includes(taker.name))
  const isNew = new Set<string>()
  // Arguments that depend on the words before them are completed each time, all others once.
  const different = asked.filter(
    ({ placeholder }) =>
      /^(session|deliveries|member|monitors)$/.test(placeholder) || (!isNew.has(placeholder) && isNew.add(placeholder)),
  )
  const offered = Object.fromEntries(
    await inPairs(
      different,
      async ({ name, before }) =>
        [
          name,
          (await cli.ok(['__complete', '--', ...before(), '']))
            .split('\n')
            .filter(Boolean)
            .map(line => line.split('\t')[0]),
        ] as const,
    ),
  )
  expect(Object.entries(offered).filter(([, candidates]) => candidates.length === 0)).toEqual([])
  expect(offered).toMatchObject({
    'cards download <attachment>': [named.attachmentId],
    'inbox read <items>': [`due-${named.cardId}`],
    'agents messages --session': [sessionId],
    'presession send <session>': [named.sessionId],
    'presession accept <session>': [named.sessionId],
    'webhooks redeliver <deliveries>': [named.deliveryId],
    'monitors delete <monitors>': [named.monitorId],
    'cards list --label': ['bug'],
    'api --method': ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'],
  })
  expect(offered['projects member set <member>']).toContain(named.memberId)
  expect(offered['orgs member set <member>']).toContain(named.memberId)
})

test('archived and deleted cards are offered only to the commands that restore them', async () => {
  const idsFor = async (verb: string) =>
    (await cli.ok(['__complete', '--', 'cards', verb, '']))
      .split('\n')
      .filter(Boolean)
      .map(line => line.split('\t')[0])
  expect(await idsFor('unarchive')).toEqual([named.archivedCardId])
  expect(await idsFor('archive')).not.toContain(named.archivedCardId)
  expect(await idsFor('restore')).toEqual([named.deletedCardId])
  expect(await idsFor('archive')).not.toContain(named.deletedCardId)
})

/** Runs two processes at a time. */
async function inPairs<T, R>(items: readonly T[], action: (item: T) => Promise<R>): Promise<R[]> {
  const results: R[] = []
  for (let at = 0; at < items.length; at += 2) results.push(...(await Promise.all(items.slice(at, at + 2).map(action))))
  return results
}
