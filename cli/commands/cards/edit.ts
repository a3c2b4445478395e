import { Option, type Command } from 'commander'
import type { AgentChoice } from '../../../src/contract/agents/agentChoice.ts'
import {
  addChoiceOptions,
  choiceFlags,
  readAgentFields,
  isChosen,
  type ChoiceOptions,
} from '../../agents/agentOption.ts'
import { collect, orWord, wordAsNull } from '../../parsing/arguments.ts'
import { runBulk, readIds } from '../../input/bulk.ts'
import { assigneeNames } from '../../../src/boardModel/plan.ts'
import { getCard, inItsProject, type Card, type CardPlace } from '../../cards/cardApi.ts'
import { cardIdOf } from '../../cards/cardIds.ts'
import { changeFromPresent } from '../../cards/changeFromPresent.ts'
import { addPlanOptions, parseNames, peopleWords, resolvePeople } from '../../cards/planOptions.ts'
import { isPlanned, planFlags, planNames, planOf, type PlanOptions, type PlanRequest } from '../../cards/planInputs.ts'
import { openContext, type Context } from '../../context/context.ts'
import { cardOfText, cardText } from '../../cards/cardFile.ts'
import { editText } from '../../input/editor.ts'
import { usage } from '../../failures/failure.ts'
import { example, prints } from '../../help/help.ts'
import { withFittingPrompt, type FittingPrompt } from '../../cards/longPrompt.ts'
import { upload } from '../../cards/upload.ts'
import { addPromptOptions, type PromptOptions } from '../../input/promptOption.ts'

interface EditOptions extends PromptOptions, ChoiceOptions, PlanOptions {
  title?: string
  addLabel?: string[]
  removeLabel?: string[]
  addAssignee?: string[]
  removeAssignee?: string[]
  watch?: boolean
  worktree?: boolean
  auto?: boolean
  parent?: string
  base?: string
  baseCard?: string
  editor?: boolean
}
interface Change extends Partial<AgentChoice>, PlanRequest {
  title?: string
  prompt?: string
  labels?: string[]
  parentId?: string | null
  base?: string | null
  baseCardId?: string | null
  watching?: boolean
  useWorktree?: boolean
  autoMode?: boolean
}
/** Values to add to the lists of a card, and values to remove. */
interface ListChange {
  addLabel: readonly string[]
  removeLabel: readonly string[]
  addAssignee: readonly string[]
  removeAssignee: readonly string[]
  /** The names of assignees without an account. */
  removeName: readonly string[]
}

export function registerVerbs(cards: Command): void {
  const described = addPromptOptions(
    cards.command('edit <cards...>').summary('Change cards').description('Change cards. - reads IDs from stdin.'),
  )
    .option('-t, --title <title>', 'new title')
    .option('--add-label <label>', 'label to add (repeatable)', collect)
    .option('--remove-label <label>', 'label to remove (repeatable)', collect)
    .option('--parent <card>', 'parent card; none removes it', orWord('none', cardIdOf))
    .option('--base <name>', "branch, tag or commit where the cards' branches start; none: the project folder's")
    .addOption(
      new Option('--base-card <card>', 'start at the branch of this card; none to clear it')
        .argParser(orWord('none', cardIdOf))
        .conflicts('base'),
    )
  const command = addPlanOptions(
    addChoiceOptions(described, 'agent of the cards; none for that of the column or project'),
  )
    .option('--no-start-at', 'remove the start time')
    .option('--add-assignee <people>', `people to add, separated by commas: ${peopleWords}`, parseNames)
    .option('--remove-assignee <people>', 'assignees to remove, separated by commas', parseNames)
    .option('--watch', 'start watching')
    .option('--no-watch', 'stop watching')
    .option('--worktree', 'run the agents in worktrees')
    .option('--no-worktree', "run the agents in the project's folder")
    .option('--auto', 'turn on auto mode: start when ready, and continue through the pipeline')
    .option('--no-auto', 'turn off auto mode')
    .addOption(
      new Option('-e, --editor', 'change title and prompt in your editor').conflicts([
        'title',
        'parent',
        'base',
        'baseCard',
        'prompt',
        'promptFile',
        'agent',
        'agentProfile',
        'model',
        'mode',
        'effort',
        ...planNames,
        'addAssignee',
        'removeAssignee',
      ]),
    )
    .action(async (ids: string[], options: EditOptions) => editCards(await openContext(command), ids, options))
  prints(command, null, 'id result error')
  example(
    command,
    'board cards edit 12 --title "Fix the login form" --add-label urgent',
    'board cards edit 12 --agent claude --model opus --effort high',
    'board cards edit 12 13 --parent 7',
    'board cards edit 12 --add-assignee me --priority urgent --due tomorrow',
    'board cards edit 12 --start-at 2030-01-31T18:00',
    'board cards edit 12 --editor',
    'board cards list --label bug -q | board cards edit - --add-label triaged',
  )
  registerAssign(cards)
}

function registerAssign(cards: Command): void {
  const assign = cards
    .command('assign <cards...>')
    .summary('Assign cards to people')
    .description('Assign people to cards, or remove them. - reads IDs from stdin.')
    .option('--to <people>', `people to add, separated by commas: ${peopleWords}`, parseNames)
    .option('--remove <people>', 'assignees to remove, separated by commas', parseNames)
    .action(async (ids: string[], { to, remove }: { to?: string[]; remove?: string[] }) => {
      if (to === undefined && remove === undefined)
        throw usage('to whom?', { hint: 'specify --to or --remove', see: 'board cards assign --help' })
      await editCards(await openContext(assign), ids, { addAssignee: to, removeAssignee: remove })
    })
  prints(assign, null, 'id result error')
  example(assign, 'board cards assign 12 13 --to me', 'board cards assign 12 --to ada --remove bob')
}

async function editCards(context: Context, ids: string[], options: EditOptions): Promise<void> {
  const { title, promptFile, parent, base, baseCard, addAssignee, removeAssignee } = options
  const { watch: watching, worktree: useWorktree, auto: autoMode } = options
  const { addLabel = [], removeLabel = [] } = options
  const others = [watching, useWorktree, autoMode, addAssignee, removeAssignee]
  const changes = [title, options.prompt, promptFile, parent, base, baseCard, ...others]
  if (options.editor) return editInEditor(context, ids)
  const isListed = addLabel.length + removeLabel.length > 0
  if (!isListed && changes.every(each => each === undefined) && !isChosen(options) && !isPlanned(options))
    throw usage('nothing to change', {
      hint: `specify --title, --prompt, --prompt-file, --add-label, --remove-label, --parent, --base, --base-card, ${planFlags}, --add-assignee, --remove-assignee, --watch, --worktree, --no-worktree, --auto, --no-auto, ${choiceFlags} or --editor`,
      see: 'board cards edit --help',
    })
  if (promptFile === '-' && ids.includes('-')) throw usage('stdin can contain the prompt or the IDs, not both')
  await withFittingPrompt(context, options, prompt => editEach(context, ids, options, prompt))
}

async function editEach(
  context: Context,
  ids: string[],
  options: EditOptions,
  { prompt, file }: FittingPrompt,
): Promise<void> {
  const { title, parent, base, baseCard, addAssignee, removeAssignee, addLabel = [], removeLabel = [] } = options
  const { watch: watching, worktree: useWorktree, auto: autoMode } = options
  const choice = await readAgentFields(context, options)
  const fields = {
    title,
    prompt,
    parentId: wordAsNull('none', parent),
    base: wordAsNull('none', base),
    baseCardId: wordAsNull('none', baseCard),
    watching,
    useWorktree,
    autoMode,
    ...planOf(options),
    ...choice,
  }
  const peopleOf = peopleFinder(context)
  await runBulk(
    context,
    ids,
    id =>
      inItsProject(context, id, async place => {
        const removed = await assigneesToRemove(context, place, removeAssignee ?? [], peopleOf)
        const added = await peopleOf(place.projectId, addAssignee)
        await changeCard(context, place, fields, { addLabel, removeLabel, addAssignee: added, ...removed })
        if (file !== undefined) await upload(context, place, [file])
      }),
    { verb: 'edited', label: 'Editing' },
  )
}

/** Looks up the people of a project once, regardless of the number of edited cards. */
function peopleFinder(context: Context): (projectId: string, wanted?: readonly string[]) => Promise<string[]> {
  const found = new Map<string, Promise<string[] | undefined>>()
  return async (projectId, wanted) => {
    if (wanted === undefined) return []
    const key = `${projectId} ${wanted.join()}`
    if (!found.has(key)) found.set(key, resolvePeople(context, projectId, wanted))
    return (await found.get(key)) ?? []
  }
}

async function changeCard(
  { client }: Context,
  place: CardPlace,
  { autoMode, ...fields }: Change,
  lists: ListChange,
): Promise<void> {
  const { addLabel, removeLabel, addAssignee, removeAssignee, removeName } = lists
  const { watching, ...others } = fields
  const isListed = Object.values(lists).some(each => each.length > 0)
  const isEdited = isListed || Object.values(others).some(each => each !== undefined)
  if (autoMode !== undefined) await client.cards.setAutoMode({ ...place, enabled: autoMode })
  // Users who can only see a card can watch it.
  if (!isEdited && watching !== undefined) await client.cards.setWatching({ ...place, watching })
  else if (!isListed && isEdited) await client.cards.update({ ...place, ...fields })
  else if (isListed)
    await changeFromPresent(client, place, card => ({
      ...fields,
      ...(addLabel.length + removeLabel.length > 0 && { labels: withAndWithout(card.labels, addLabel, removeLabel) }),
      ...(addAssignee.length + removeAssignee.length > 0 && {
        assigneeIds: withAndWithout(assigneeIdsOf(card), addAssignee, removeAssignee),
      }),
      ...(removeName.length > 0 && { assigneeNames: withAndWithout(assigneeNamesOf(card), [], removeName) }),
    }))
}

const withAndWithout = (present: readonly string[], added: readonly string[], removed: readonly string[]): string[] =>
  [...new Set([...present, ...added])].filter(each => !removed.includes(each))

type Assigned = Pick<Card, 'assignees'>
const assigneeIdsOf = ({ assignees }: Assigned): string[] =>
  assignees.flatMap(each => ('userId' in each ? [each.userId] : []))
const assigneeNamesOf = ({ assignees }: Assigned): string[] =>
  assignees.flatMap(each => ('name' in each ? [each.name] : []))

/** Returns the IDs of assignees to remove. Matches the card's assignees by name first, then the people of the project. */
async function assigneesToRemove(
  context: Context,
  place: CardPlace,
  wanted: readonly string[],
  peopleOf: ReturnType<typeof peopleFinder>,
): Promise<Pick<ListChange, 'removeAssignee' | 'removeName'>> {
  if (wanted.length === 0) return { removeAssignee: [], removeName: [] }
  const { assignees } = await getCard(context, place)
  const isCalled = (name: string) => wanted.some(word => word.toLowerCase() === name.toLowerCase())
  const accounts = assignees.filter(each => 'userId' in each && isCalled(each.displayName))
  const names = assigneeNamesOf({ assignees }).filter(isCalled)
  const found = [...assigneeNames({ assignees: accounts }), ...names].map(name => name.toLowerCase())
  const others = wanted.filter(word => !found.includes(word.toLowerCase()))
  const ids = await peopleOf(place.projectId, others)
  return { removeAssignee: [...assigneeIdsOf({ assignees: accounts }), ...ids], removeName: names }
}

async function editInEditor(context: Context, ids: string[]): Promise<void> {
  const [id, ...others] = await readIds(ids)
  if (id === undefined || others.length > 0) throw usage('--editor requires exactly one card')
  if (!context.mayAsk)
    throw usage('--editor requires a terminal', { hint: 'specify --title, --prompt or --prompt-file' })
  await inItsProject(context, id, async place => {
    const card = await getCard(context, place)
    const before = cardText(card)
    await editText(before, `card-${id}.md`, async after => {
      if (after === before) return context.out.done('Nothing was changed.')
      // If-Match prevents overwriting a change by another client.
      await context.client.cards.update({ ...place, ...cardOfText(after) }, { ifMatch: `"${card.version}"` })
      context.out.done(`Edited card ${id}.`)
    })
  })
}
