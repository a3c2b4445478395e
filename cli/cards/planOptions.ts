import { Option, type Command } from 'commander'
import { sorts, type Sort } from '../../src/contract/cards/cardPlan.ts'
import {
  choiceNames,
  choiceValues,
  mapChoices,
  planWord,
  type ChoiceFilter,
} from '../../src/contract/cards/planFields.ts'
import type { Context } from '../context/context.ts'
import { isId, pickNamed } from '../context/resolve.ts'
import { usage } from '../failures/failure.ts'
import { dayStart } from '../parsing/arguments.ts'
import { planOptions } from './planInputs.ts'

export interface PlanFilterOptions extends ChoiceFilter {
  assignee?: string
  dueBefore?: string
  sort?: Sort
}
/** The filters and sort orders of lists, as request fields. */
export interface PlanFilter extends ChoiceFilter {
  assigneeId?: number | 'none'
  dueBefore?: string
  sort?: Sort
}

/** The names of people in options, in the format of `resolvePeople`. */
export const peopleWords = 'me, names, IDs; on a server without accounts, me is the local operator'

/** The options for a card's plan: priority, dates and estimate. */
export const addPlanOptions = (command: Command): Command =>
  planOptions().reduce((added, option) => added.addOption(option), command)

/** The text of the option `--assignee` of lists. */
export const assigneeFilterText =
  'show only cards assigned to this person: me, a name or an ID; none for unassigned cards. On a server without accounts, me is the local operator'

/** The options that filter a list by plan, and sort it. */
export const addPlanFilters = (command: Command): Command =>
  choiceNames
    .map(name =>
      new Option(`--${name} <${name}>`, `show only cards with this ${planWord(name)}`).choices(choiceValues(name)),
    )
    .reduce((added, option) => added.addOption(option), command.option('-a, --assignee <person>', assigneeFilterText))
    .option(
      '--due-before <time>',
      'show only cards that are due before this time: 2030-01-31, today, tomorrow, 3d, now',
      dayStart,
    )
    .addOption(
      new Option('--sort <order>', 'sort order; a leading - reverses it').choices(
        sorts.flatMap(sort => [sort, `-${sort}`]),
      ),
    )

/** Converts a filter for a request. @throws Failure (not found) if the person does not exist */
export const readPlanFilter = async (
  context: Context,
  projectId: string,
  { assignee, dueBefore, sort, ...options }: PlanFilterOptions,
): Promise<PlanFilter> => ({
  assigneeId:
    assignee === undefined || assignee === 'none'
      ? assignee
      : Number(await resolvePerson(context, projectId, assignee)),
  ...(mapChoices(name => options[name]) as ChoiceFilter),
  dueBefore,
  sort,
})

/** Returns the IDs of people, given by name, email or ID. @throws as `resolvePerson` */
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

/** Parses a comma-separated list of names. The option can be repeated. */
export const parseNames = (text: string, before: readonly string[] | undefined): string[] => [
  ...(before ?? []),
  ...text
    .split(',')
    .map(name => name.trim())
    .filter(Boolean),
]

/**
 * Returns the ID of an assignable person: `me`, a name, an email or an ID.
 * @throws Failure (not found) with suggestions, or (usage) if several people have that name
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
