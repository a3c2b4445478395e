import { Option, type Command } from 'commander'
import { addChoiceOptions, readAgentFields, type ChoiceOptions } from '../../agents/agentOption.ts'
import { collect } from '../../parsing/arguments.ts'
import { runBulk } from '../../input/bulk.ts'
import { cardBrief } from '../../cards/cardColumns.ts'
import { createCard, getCard, withColumnName, type Card } from '../../cards/cardApi.ts'
import { listCards } from '../../cards/cardListing.ts'
import { cardIdOf, cardIds } from '../../cards/cardIds.ts'
import { activeColumn, runCard } from '../../cards/cardRun.ts'
import { planIn, planOf, planOfFile, type PlanOptions } from '../../cards/planInputs.ts'
import { addPlanOptions, parseNames, peopleWords, resolvePeople } from '../../cards/planOptions.ts'
import { openContext, type Context } from '../../context/context.ts'
import { usage } from '../../failures/failure.ts'
import { example, prints } from '../../help/help.ts'
import { cardOfMarkdown, cardsOfLines, fileFieldNames, type CardText } from '../../cards/newCards.ts'
import { warnOfFolder } from '../../cards/startWarnings.ts'
import { checkFiles, upload, type AttachOptions } from '../../cards/upload.ts'
import { readText } from '../../input/prompt.ts'
import { withFittingPrompt } from '../../cards/longPrompt.ts'
import { addPromptOptions, type PromptOptions } from '../../input/promptOption.ts'
import { listBoards, listColumns, resolveColumn } from '../../context/resolve.ts'

interface AddOptions extends PromptOptions, ChoiceOptions, AttachOptions, PlanOptions {
  assignee?: string[]
  column?: string
  label?: string[]
  worktree: boolean
  auto?: boolean
  run?: boolean
  force?: boolean
  unlessExists?: boolean
  idempotencyKey?: string
  terminal?: string
  blockedBy?: string[]
  parent?: string
  base?: string
  baseCard?: string
  template?: string
  from?: string
}

const examples = [
  'board cards add "Fix the login" --prompt "The form loses its focus." --label bug',
  'git log -1 --format=%B | board cards add "Review the last commit" --prompt-file - --run',
  'board cards add "Nightly audit" --unless-exists -q',
  'board cards add "Watch the tests" --terminal "npm test -- --watch" --run',
  'board cards add "Fix the bug in the screenshot" --attach screenshot.png --run',
  'board cards add "Rename the table" --agent codex --model gpt-5 --effort low',
  'board cards add "Write the tests" --blocked-by 12,13 --parent 7',
  'board cards add "Document the API" --blocked-by 12 --base-card 12',
  'board cards add "Renew the certificate" --assignee me --priority high --due 2030-01-31 --estimate 2',
  'board cards add --template release.md',
  "jq -c '.[] | {title, prompt: .body}' issues.json | board cards add --from - --label imported",
]

export function registerVerbs(cards: Command): void {
  const described = addPromptOptions(
    cards
      .command('add [title]')
      .summary('Add one or more cards')
      .description(
        'Add a card at the end of a column, and print it. Its agent starts only with --run, or with board cards run.',
      ),
  )
    .option('-c, --column <column>', 'name or ID of the column (default: the first of the default board)')
    .option('-l, --label <label>', 'label (repeatable)', collect)
  const add = addPlanOptions(addChoiceOptions(described, 'agent of the card (default: that of the column or project)'))
    .option('-a, --assignee <people>', `assignees, separated by commas: ${peopleWords}`, parseNames)
    .option('--terminal <command>', 'create a terminal card that runs this shell command instead of an agent')
    .option('--blocked-by <cards>', 'cards that block it, separated by commas', cardIds)
    .option('--parent <card>', 'parent card', cardIdOf)
    .option(
      '--base <name>',
      "branch, tag or commit where the card's branch starts (default: that of the project folder)",
    )
    .addOption(
      new Option('--base-card <card>', 'start at the branch of this card').argParser(cardIdOf).conflicts('base'),
    )
    .option('--no-worktree', "run the agent in the project's folder")
    .option(
      '--run',
      'start its agent in the first active column, or in that of --column; with --start-at, at that time',
    )
    .option('--force', 'ignore the limit of the column')
    .addOption(
      new Option('--attach <files...>', 'files to attach to the card, before its agent starts').conflicts([
        'from',
        'idempotencyKey',
      ]),
    )
    .option('--auto', 'turn on auto mode: start when ready, and continue through the pipeline')
    .option('--unless-exists', 'if the column has a card with this title, print that card instead')
    .option('--idempotency-key <key>', 'key that prevents a second card if the command is repeated')
    .addOption(
      new Option(
        '-T, --template <file>',
        `Markdown, or - for stdin: the first line is the title, and the rest is the prompt; front matter between two --- lines can set ${fileFieldNames.filter(name => name !== 'title' && name !== 'prompt').join(', ')}`,
      ).conflicts(['from', 'promptFile']),
    )
    .addOption(
      new Option(
        '--from <file>',
        `many cards: one JSON object per line with ${fileFieldNames.join(', ')}; - for stdin`,
      ).conflicts(['prompt', 'promptFile', 'terminal']),
    )
    .action(async (title: string | undefined, typed: AddOptions) => {
      // The global option of that name receives the value of --template (see `globalsOf`).
      const options = { ...typed, template: add.optsWithGlobals<AddOptions>().template }
      if (options.from === undefined) return addOne(await openContext(add), title, options)
      if (title !== undefined) throw usage('--from provides the titles', { hint: `omit "${title}"` })
      await addMany(await openContext(add), options.from, options)
    })
  prints(add, 'cards.get')
  example(add, ...examples)
}

async function addOne(context: Context, title: string | undefined, options: AddOptions): Promise<void> {
  await withFittingPrompt(context, options, ({ prompt, file }) =>
    addWith(context, title, prompt, {
      ...options,
      attach: [...(options.attach ?? []), ...(file === undefined ? [] : [file])],
    }),
  )
}

async function addWith(context: Context, title: string | undefined, prompt: string | undefined, options: AddOptions) {
  const text = options.template === undefined ? {} : cardOfMarkdown(await readText(options.template, '--template'))
  const card = { ...text, title: title ?? text.title, prompt: prompt ?? text.prompt }
  if (!card.title?.trim())
    throw usage('a card requires a title', {
      hint: 'for example: board cards add "Fix the login"',
      see: 'board cards add --help',
    })
  const projectId = await projectForNew(context)
  const { made, isNew } = await add(
    context,
    projectId,
    { ...card, title: card.title },
    options,
    columnFinder(context, projectId),
  )
  context.out.done(isNew ? `Added card ${made.id}.` : `Card ${made.id} already has this title.`)
  if (isNew && made.startAt && !options.run)
    context.out.done(
      `The card starts automatically only in an active column: board cards move ${made.id} --to <column>`,
    )
  await context.out.record(context.out.quiet ? made : await withColumnName(context, made), cardBrief)
}

/** Returns the current project. If the folder also belongs to projects of other owners, prints the selected one. */
async function projectForNew(context: Context): Promise<string> {
  const { id, name, sameFolder = [] } = await context.project()
  if (sameFolder.length > 0)
    context.out.done(
      `In project ${id} "${name}". This folder is also in ${sameFolder.map(each => `${each.id} "${each.name}"`).join(', ')} of another owner: use -P to select it.`,
    )
  return id
}

/** Adds every card of the file in its order, and prints one line for each. */
async function addMany(context: Context, file: string, options: AddOptions): Promise<void> {
  const texts = cardsOfLines(await readText(file, '--from'))
  const projectId = await projectForNew(context)
  const findColumn = columnFinder(context, projectId)
  const made: Card[] = []
  const addAt = async (line: string) => {
    const text = texts[Number(line) - 1]!
    const idempotencyKey = options.idempotencyKey && `${options.idempotencyKey}-${line}`
    const { made: card } = await add(
      context,
      projectId,
      { ...text, title: text.title! },
      { ...options, idempotencyKey },
      findColumn,
    )
    made.push(card)
    if (!context.out.json)
      await context.out.row(
        card,
        cardBrief.filter(({ name }) => name === 'id' || name === 'title'),
      )
  }
  try {
    await runBulk(
      context,
      texts.map((_, at) => String(at + 1)),
      addAt,
      { verb: 'added', label: 'Adding', silent: true },
    )
  } finally {
    if (context.out.json) await context.out.list(made, cardBrief)
  }
  context.out.done(`Added ${made.length} ${made.length === 1 ? 'card' : 'cards'}.`)
}

type Column = Awaited<ReturnType<typeof resolveColumn>>
type FindColumn = (wanted: string | undefined) => Promise<Column | undefined>

/**
 * Creates a card, or finds it. If `--run` is set and the agent cannot start, no card is created, unless files must be attached
 * first.
 */
async function add(
  context: Context,
  projectId: string,
  text: CardText & { title: string },
  options: AddOptions,
  findColumn: FindColumn,
): Promise<{ made: Card; isNew: boolean }> {
  const column = await findColumn(options.column ?? (text.column === undefined ? undefined : String(text.column)))
  const before = options.unlessExists ? await findByTitle(context, projectId, text.title, column?.id) : undefined
  if (before) return { made: before, isNew: false }
  const files = options.attach ?? []
  await checkFiles(files)
  const isStarted = options.run && files.length === 0 && !options.startAt
  const made = await createCard(
    context,
    projectId,
    {
      title: text.title,
      prompt: text.prompt,
      column: isStarted || (options.run && options.startAt) ? await columnToRunIn(context, projectId, column) : column,
      labels: [...new Set([...(text.labels ?? []), ...(options.label ?? [])])],
      useWorktree: options.worktree && text.useWorktree !== false,
      ...(await readAgentFields(context, {
        agent: options.agent ?? text.agent,
        agentProfile: options.agentProfile ?? text.profile,
        model: options.model ?? text.model,
        mode: options.mode ?? text.mode,
        effort: options.effort ?? text.effort,
      })),
      command: options.terminal,
      // Options override the file.
      plan: planOf({ ...planOfFile({ ...text }), ...planIn(options) }),
      autoMode: options.auto,
      assigneeIds: await resolvePeople(context, projectId, options.assignee ?? text.assignees),
      blockedBy: options.blockedBy,
      parentId: options.parent,
      base: options.base,
      baseCardId: options.baseCard,
      start: isStarted,
      force: options.force,
    },
    options.idempotencyKey,
  )
  const isRunNow = options.run && !options.startAt
  if (files.length > 0) return { made: await withFiles(context, made, files, isRunNow), isNew: true }
  if (isStarted) await warnOfFolder(context, made)
  return { made, isNew: true }
}

/** Attaches files to a new card, then starts its agent as `board cards run` does. If that fails, the card stays. */
async function withFiles(context: Context, made: Card, files: readonly string[], isRun = false): Promise<Card> {
  const place = { projectId: made.projectId, cardId: made.id }
  try {
    await upload(context, place, files)
    return isRun ? await runCard(context, place) : await getCard(context, place)
  } catch (error) {
    context.out.warn(`card ${made.id} was still added (see: board cards attachments ${made.id})`)
    throw error
  }
}

async function columnToRunIn(context: Context, projectId: string, column?: Column): Promise<{ id: string }> {
  const boardId = column?.boardId ?? (await listBoards(context, projectId))[0]?.id
  return activeColumn(context, { projectId, boardId, columnId: column?.id })
}

/** Finds columns by name or ID, each once. */
function columnFinder(context: Context, projectId: string): FindColumn {
  const found = new Map<string, Promise<Column>>()
  return async wanted => {
    if (wanted === undefined) return undefined
    if (!found.has(wanted)) found.set(wanted, resolveColumn(context, projectId, wanted))
    return found.get(wanted)
  }
}

/** Finds the card with exactly this title in the column, by default in the column for new cards. */
async function findByTitle(
  context: Context,
  projectId: string,
  title: string,
  columnId: string | undefined,
): Promise<Card | undefined> {
  const start = [...title].slice(0, 100).join('')
  const { cards } = await listCards(context, {
    projectId,
    filter: { columnId: columnId ?? (await firstColumn(context, projectId)), search: start },
    limit: Infinity,
  })
  return cards.find(card => card.title === title)
}

async function firstColumn(context: Context, projectId: string): Promise<string | undefined> {
  const boards = await listBoards(context, projectId)
  return (await listColumns(context, projectId, boards[0]?.id))[0]?.id
}
