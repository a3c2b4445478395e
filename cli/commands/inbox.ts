import { Option, type Command } from 'commander'
import { inboxKinds, type InboxKind } from '../../src/contract/cards/inboxKinds.ts'
import type { Contract } from '../../src/contract/index.ts'
import type { Output } from '../../src/contract/route.ts'
import { openUserContext, type Context } from '../context/context.ts'
import { isId } from '../context/resolve.ts'
import { Failure, usage } from '../failures/failure.ts'
import { example, prints } from '../help/help.ts'
import { readIds } from '../input/bulk.ts'
import type { Column } from '../output/output.ts'
import { dayStart } from '../parsing/arguments.ts'
import { addNewestOptions, printNewest, type NewestOptions } from '../requests/cursorList.ts'

type Item = Output<Contract['inbox']['list']>['items'][number]
type Change = Pick<Parameters<Context['client']['inbox']['mark']>[0], 'state' | 'snoozedUntil'>
interface Filter {
  kind?: InboxKind
}

const columns: Column<Item>[] = [
  { name: 'id', style: 'id', value: item => item.id },
  { name: 'state', style: 'dim', value: item => item.state },
  { name: 'projectName', header: 'PROJECT', style: 'text', value: item => item.projectName },
  { name: 'cardTitle', header: 'CARD', style: 'title', value: item => item.cardTitle },
  { name: 'createdAt', header: 'SINCE', style: 'time', value: item => item.createdAt },
  { name: 'snoozedUntil', header: 'UNTIL', style: 'time', optional: true, value: item => item.snoozedUntil },
  { name: 'text', style: 'text', value: item => item.text },
  { name: 'kind', hidden: true, value: item => item.kind },
  { name: 'projectId', hidden: true, value: item => item.projectId },
  { name: 'cardId', hidden: true, value: item => item.cardId },
  { name: 'cardStatus', hidden: true, value: item => item.cardStatus },
]
const markedColumns: Column<{ id: string; state: string }>[] = [
  { name: 'id', style: 'id', value: item => item.id },
  { name: 'state', value: item => item.state },
]

const kindOption = () => new Option('--kind <kind>', 'only items of this kind').choices(inboxKinds)

export function register(inbox: Command): void {
  registerList(inbox)
  registerMark(inbox, 'read', 'Mark items as read', 'Mark items as read. They stay in your inbox.')
  registerMark(
    inbox,
    'done',
    'Mark items as done',
    'Mark items as done. An item returns if its cause occurs again, for example if another comment mentions you.',
  )
  registerMark(
    inbox,
    'unread',
    'Return items to your inbox',
    'Return read, done or snoozed items to your inbox as unread.',
  )
  registerMark(
    inbox,
    'snoozed',
    'Hide items until a time',
    'Hide items until a time. They are unread again at that time, or earlier if their cause occurs again.',
  )
}

function registerList(inbox: Command): void {
  const list = addNewestOptions(
    inbox
      .command('list', { isDefault: true })
      .summary('List your inbox')
      .description(
        'List what needs you in all projects, or in the project of -P, newest first: questions of agents, failures, reviews, due cards, mentions, comments and assignments. An item leaves your inbox when its cause ends.',
      )
      .addOption(
        new Option('--state <state>', 'only items in this state; open is unread or read')
          .choices(['open', 'unread', 'snoozed', 'done'])
          .default('open'),
      )
      .addOption(kindOption()),
    50,
    'items',
  ).action(async ({ state, kind, ...options }: NewestOptions & Filter & { state: 'open' }) => {
    const context = await openUserContext(list)
    const filter = { state, kind, projectId: await projectOf(context) }
    const page = (asked: { cursor?: number; limit: number }) => context.client.inbox.list({ ...filter, ...asked })
    await printNewest(context.out, options, page, columns, { one: 'item', many: 'items' })
  })
  prints(list, null, columns.map(({ name }) => name).join(' '))
  example(list, 'board inbox', 'board inbox --kind question -P web', 'board inbox --json id,text')
}

const verbs = { read: 'read', done: 'done', unread: 'reopen', snoozed: 'snooze' } as const

function registerMark(inbox: Command, state: keyof typeof verbs, summary: string, description: string): void {
  const verb = verbs[state]
  const command = inbox
    .command(`${verb} [items...]`)
    .summary(summary)
    .description(`${description} Specify items, or cards for all their items.`)
    .option('--all', 'all open items, or those that --kind and -P select')
    .addOption(kindOption())
  if (state === 'snoozed')
    command.requiredOption('--until <time>', 'end: tomorrow, a duration such as 3h, or a date and time', dayStart)
  command.action(async (items: string[], options: Filter & { all?: boolean; until?: string }) => {
    if (items.length > 0 === (options.all === true))
      throw usage(items.length > 0 ? '--all does not accept items' : 'no item is specified', {
        hint: 'specify items, such as question-12, or --all',
        see: 'board inbox',
      })
    const context = await openUserContext(command)
    await markItems(context, await readIds(items, isItem), options, { state, snoozedUntil: options.until })
  })
  prints(command, null, 'id state')
  const until = state === 'snoozed' ? ' --until tomorrow' : ''
  example(command, `board inbox ${verb} question-12${until}`, `board inbox ${verb} --all --kind comment${until}`)
}

/** Whether a word is the ID of an item or of a card. */
const isItem = (word: string): boolean =>
  isId(word) || (inboxKinds.some(kind => word.startsWith(`${kind}-`)) && isId(word.slice(word.indexOf('-') + 1)))

async function markItems(context: Context, words: readonly string[], filter: Filter, change: Change): Promise<void> {
  const wrong = words.find(word => !isItem(word))
  if (wrong !== undefined)
    throw new Failure('notFound', `there is no item "${wrong}"`, {
      hint: 'an item is a kind and a card, such as question-12',
      see: 'board inbox',
    })
  const idsOf = (word: string) => (isId(word) ? inboxKinds.map(kind => `${kind}-${word}`) : [word])
  const { ids } = await context.client.inbox.mark({
    ...change,
    kind: filter.kind,
    projectId: await projectOf(context),
    ...(words.length === 0 ? { all: true } : { ids: words.flatMap(idsOf) }),
  })
  await context.out.list(
    ids.map(id => ({ id, state: change.state })),
    markedColumns,
    { empty: 'No items.' },
  )
  const missing = words.filter(word => !idsOf(word).some(id => ids.includes(id)))
  if (missing.length > 0)
    throw new Failure('notFound', `not in your inbox: ${missing.join(', ')}`, { see: 'board inbox' })
}

const projectOf = async (context: Context): Promise<number | undefined> =>
  context.globals.project === undefined ? undefined : Number((await context.project()).id)
