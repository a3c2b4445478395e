import { Option, type Command } from 'commander'
import { priorities, sorts, type Priority, type Sort } from '../../src/contract/cardPlan.ts'
import type { Context } from '../context/context.ts'
import { isId, pickNamed } from '../context/resolve.ts'
import { usage } from '../failures/failure.ts'
import { dayEnd, dayStart, estimate, orWord, wordAsNull } from '../parsing/arguments.ts'

/** What somebody typed of a card's plan. `none` takes something away. */
export interface PlanOptions {
  priority?: Priority
  due?: string
  estimate?: number | 'none'
  /** false: whenever somebody starts it. */
  startAt?: string | false
}
export interface PlanFilterOptions {
  assignee?: string
  priority?: Priority
  dueBefore?: string
  sort?: Sort
}
/** What lists are filtered by and sorted by, as requests say it. */
export interface PlanFilter {
  assigneeId?: number | 'none'
  priority?: Priority
  dueBefore?: string
  sort?: Sort
}

/** How options name people, as `resolvePeople` finds them. */
export const peopleWords = 'me, names, IDs; on a server without accounts, me is the local operator'

/** The most urgent first, as people name them. */
const priorityNames = priorities.toReversed()

/** The options that say how soon a card is to be done, by when, and how much it is. */
export const addPlanOptions = (command: Command): Command =>
  command
    .addOption(new Option('--priority <priority>', 'how soon it is to be done').choices(priorityNames))
    .option(
      '--due <time>',
      'by when: 2030-01-31, today, tomorrow, 3d, or a time; none for no due date',
      orWord('none', dayEnd),
    )
    .option(
      '--start-at <time>',
      'not to start before: 2030-01-31, tomorrow, 2h, or a time; then by itself in an active column',
      dayStart,
    )
    .option('--estimate <number>', 'how much it is, in a unit of your own; none for none', orWord('none', estimate))

/** The text of the option `--assignee` of lists. */
export const assigneeFilterText =
  'Only cards of this person: me, a name, an ID; none for cards without an assignee. On a server without accounts, me is the local operator'

/** The options that filter a list by plan, and sort it. */
export const addPlanFilters = (command: Command): Command =>
  command
    .option('-a, --assignee <person>', assigneeFilterText)
    .addOption(new Option('--priority <priority>', 'only cards of this priority').choices(priorityNames))
    .option('--due-before <time>', 'only cards that are due before: 2030-01-31, today, tomorrow, 3d, now', dayStart)
    .addOption(
      new Option(
        '--sort <order>',
        'by place, id, priority, due date or last change; - before it for the other way round',
      ).choices(sorts.flatMap(sort => [sort, `-${sort}`])),
    )

export const isPlanned = ({ priority, due, estimate, startAt }: PlanOptions): boolean =>
  [priority, due, estimate, startAt].some(value => value !== undefined)

/** A plan as requests say it. */
export const planOf = ({ priority, due, estimate, startAt }: PlanOptions) => ({
  priority,
  dueAt: wordAsNull('none', due),
  estimate: wordAsNull('none', estimate),
  startAt: startAt === false ? null : startAt,
})

/** A filter as requests say it. @throws Failure (not found) for a person who is not there */
export const planFilterOf = async (
  context: Context,
  projectId: string,
  { assignee, priority, dueBefore, sort }: PlanFilterOptions,
): Promise<PlanFilter> => ({
  assigneeId:
    assignee === undefined || assignee === 'none'
      ? assignee
      : Number(await resolvePerson(context, projectId, assignee)),
  priority,
  dueBefore,
  sort,
})

/** The ids of people, each as somebody names them. @throws as `resolvePerson` */
export const resolvePeople = async (
  context: Context,
  projectId: string,
  wanted: readonly string[] | undefined,
): Promise<string[] | undefined> => {
  if (wanted === undefined) return undefined
  const ids: string[] = []
  for (const each of wanted) ids.push(await resolvePerson(context, projectId, each))
  return [...new Set(ids)]
}

/** Names with commas between them; may be given several times. */
export const names = (text: string, before: readonly string[] | undefined): string[] => [
  ...(before ?? []),
  ...text
    .split(',')
    .map(name => name.trim())
    .filter(Boolean),
]

/**
 * The id of somebody whom cards of the project can be assigned to: `me`, a name, an address or an id.
 * @throws Failure (not found) with who was probably meant, or (usage) when several have that name
 */
async function resolvePerson(context: Context, projectId: string, wanted: string): Promise<string> {
  const { client, external } = context
  if (isId(wanted)) return wanted
  if (wanted === 'me') {
    const { id } = await client.auth.me()
    if (id !== null) return id
    throw usage('an agent has no account: --assignee me is for people')
  }
  if (wanted.includes('@') && !external) {
    const found = (await client.users.search({ q: wanted })).find(
      ({ email }) => email.toLowerCase() === wanted.toLowerCase(),
    )
    if (found) return found.id
  }
  const people = await client.members.people({ projectId })
  return pickNamed(
    'person',
    people.map(({ userId, displayName }) => ({ id: userId, name: displayName })),
    wanted,
    'board projects member list',
  ).id
}
