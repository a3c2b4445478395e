import { Option, type Command } from 'commander'
import { openBrowser } from '../../browser/openBrowser.ts'
import { getCard, inItsProject, type CardPlace } from '../../cards/cardApi.ts'
import { checksOf, listedFields, pullFields, pullText, type Pull } from '../../cards/pullRequests.ts'
import { openContext, type Context } from '../../context/context.ts'
import { usage } from '../../failures/failure.ts'
import { example, prints } from '../../help/help.ts'
import { confirm, readText } from '../../input/prompt.ts'
import { collect, count } from '../../parsing/arguments.ts'
import { editTexts, registerEdit, withRepository, type InRepository } from './pr-edit.ts'

interface CreateOptions extends InRepository {
  title?: string
  body?: string
  bodyFile?: string
  base?: string
  draft?: boolean
  reviewer?: string[]
  label?: string[]
  cardLabels?: boolean
  auto?: boolean
  editor?: boolean
}
interface MergeOptions extends InRepository {
  merge?: boolean
  squash?: boolean
  rebase?: boolean
  auto?: boolean
  force?: boolean
}
type State = 'open' | 'merged' | 'closed' | 'all'

const methods = ['merge', 'squash', 'rebase'] as const

export function registerVerbs(cards: Command): void {
  const pr = cards
    .command('pr')
    .summary("Open, follow and merge cards' pull requests")
    .description(
      "Create, follow and merge pull requests of cards on the project's forge (merge requests on GitLab). board projects forge shows the forge.",
    )
    .helpCommand(false)
  registerCreate(pr)
  registerView(pr)
  registerList(pr)
  registerEdit(pr)
  registerMerge(pr)
  registerContinue(pr)
  registerClose(pr)
}

function registerCreate(pr: Command): void {
  const create = withRepository(
    pr
      .command('create <card>')
      .summary("Open a card's pull request")
      .description(
        "Push a card's branch and create a pull request for it. The title is the card's title. The body is the last message of the agent and the repository's template, and its last line names the card. If the branch has an open pull request, the board uses it unchanged.",
      ),
  )
    .option('-t, --title <title>', 'title')
    .option('-b, --body <text>', 'text of the body')
    .addOption(new Option('-F, --body-file <file>', 'file with the body, or - for stdin').conflicts('body'))
    .option('-B, --base <branch>', 'target branch')
    .option('-d, --draft', 'create a draft')
    .option('-r, --reviewer <name>', 'reviewer, by name on the forge (repeatable)', collect)
    .option('-l, --label <name>', 'label (repeatable)', collect)
    .option('--card-labels', 'also include the labels of the card')
    .option('--auto', 'merge as soon as the forge allows it')
    .addOption(
      new Option('-e, --editor', 'change title and body in your editor first').conflicts(['title', 'body', 'bodyFile']),
    )
    .action(async (id: string, options: CreateOptions) => {
      const context = await openContext(create)
      const body = options.bodyFile === undefined ? options.body : await readText(options.bodyFile, '-F')
      await inItsProject(context, id, place =>
        options.editor
          ? createInEditor(context, place, options)
          : createWith(context, place, options, { title: options.title, body }),
      )
    })
  prints(create, 'pullRequests.get')
  example(
    create,
    'board cards pr create 12',
    'board cards pr create 12 --draft --base next --reviewer ann',
    'board cards pr create 12 --editor',
  )
}

async function createInEditor(context: Context, place: CardPlace, options: CreateOptions): Promise<void> {
  await editTexts(context, { ...place, repository: options.repository }, texts =>
    createWith(context, place, options, texts),
  )
}

async function createWith(
  context: Context,
  place: CardPlace,
  { repository, base, draft, reviewer: reviewers, label = [], cardLabels, auto: autoMerge }: CreateOptions,
  texts: { title?: string; body?: string },
): Promise<void> {
  const { client, out } = context
  const own = cardLabels ? ((await getCard(context, place)).labels ?? []) : []
  const labels = [...new Set([...label, ...own])]
  const { notTaken, ...pull } = await client.pullRequests.create({
    ...place,
    ...texts,
    repository,
    base,
    draft,
    reviewers,
    labels,
    autoMerge,
  })
  for (const each of notTaken) out.warn(each)
  out.done(`Opened #${pull.number} into ${pull.base}.`)
  await out.record(pull, pullFields)
}

function registerView(pr: Command): void {
  const view = withRepository(
    pr
      .command('view <card>')
      .summary("Show a card's pull request")
      .description(
        "Show a card's newest pull request with its checks and reviews, as of the last time the board read the forge.",
      ),
  )
    .option('-w, --web', 'open it on the forge; in a pipe, print the address')
    .action(async (id: string, { repository, web }: InRepository & { web?: boolean }) => {
      const context = await openContext(view)
      const { out, client } = context
      const pull = await inItsProject(context, id, place => client.pullRequests.get({ ...place, repository }))
      if (web) return openOnForge(context, pull)
      await out.record(pull, pullFields, { body: pullText(pull) })
    })
  prints(view, 'pullRequests.get')
  example(
    view,
    'board cards pr view 12',
    'board cards pr view 12 --json state,checks,reviews',
    'board cards pr view 12 --web',
  )
}

async function openOnForge({ out }: Context, { url }: Pull): Promise<void> {
  if (url === null || !/^https?:/.test(url))
    throw usage('the forge has not reported the address of the pull request yet')
  if (out.json) return out.record({ url }, [])
  if (out.terminal.stdout && (await openBrowser(url))) return out.done(`Opened ${url}`)
  out.line(url)
}

function registerList(pr: Command): void {
  const list = pr
    .command('list')
    .summary("List a project's pull requests")
    .description(
      "List the pull requests of a project's cards, newest first, as of the last time the board read the forge.",
    )
    .addOption(
      new Option('-s, --state <state>', 'show only pull requests in this state')
        .choices(['open', 'merged', 'closed', 'all'])
        .default('open'),
    )
    .addOption(new Option('--limit <number>', 'maximum number of results').argParser(count).default(50))
    .action(async (options: { state: State; limit: number }) => {
      const context = await openContext(list)
      const { id: projectId } = await context.project()
      const pulls = await context.client.pullRequests.list({ projectId, ...options })
      await context.out.list(pulls, listedFields, { empty: 'No pull requests. Open one: board cards pr create <card>' })
    })
  prints(list, 'pullRequests.list')
  example(list, 'board cards pr list', 'board cards pr list --state all --json cardId,number,state')
}

function registerMerge(pr: Command): void {
  const merge = withRepository(
    pr
      .command('merge <card>')
      .summary("Merge a card's pull request")
      .description(
        "Merge a card's pull request on the forge, at the latest commit that the board has read. If a requirement is missing, for example a check has not finished, the command reports it and does not merge. The default merge method is the project's.",
      ),
  )
    .addOption(new Option('-m, --merge', 'create a merge commit').conflicts(['squash', 'rebase']))
    .addOption(new Option('-s, --squash', 'squash into one commit').conflicts('rebase'))
    .option('-r, --rebase', 'rebase its commits')
    .addOption(new Option('--auto', 'merge as soon as the forge allows it').conflicts('force'))
    .option('--force', 'ignore checks and reviews, if the forge allows it')
    .action(async (id: string, { repository, auto, force, ...how }: MergeOptions) => {
      const context = await openContext(merge)
      const { client, out } = context
      const method = methods.find(each => how[each])
      const pull = await inItsProject(context, id, place =>
        client.pullRequests.merge({ ...place, repository, method, auto, force }),
      )
      out.done(
        pull.state === 'merged'
          ? `Merged #${pull.number} into ${pull.base}.`
          : `#${pull.number} will be merged as soon as the forge allows it. Checks: ${checksOf(pull) ?? 'none'}.`,
      )
      await out.record(pull, pullFields)
    })
  prints(merge, 'pullRequests.get')
  example(merge, 'board cards pr merge 12 --squash', 'board cards pr merge 12 --auto')
}

function registerContinue(pr: Command): void {
  const resume = withRepository(
    pr
      .command('continue <card>')
      .summary('Resume agent work on a pull request')
      .description(
        'Resume agent work on a pull request that was handed to people. The agent receives all failed checks and requested changes again. The agent works with your permissions, its work costs money, and its feedback rounds are reset (board projects forge --max-rounds).',
      ),
  ).action(async (id: string, { repository }: InRepository) => {
    const context = await openContext(resume)
    const pull = await inItsProject(context, id, place =>
      context.client.pullRequests.continue({ ...place, repository }),
    )
    context.out.done(`Resumed #${pull.number}. Its agent receives the open feedback, if any.`)
    await context.out.record(pull, pullFields)
  })
  prints(resume, 'pullRequests.get')
  example(resume, 'board cards pr continue 12')
}

function registerClose(pr: Command): void {
  const close = withRepository(
    pr
      .command('close <card>')
      .summary("Close a card's pull request")
      .description("Close a card's pull request on the forge without a merge. The branch remains."),
  )
    .option('-y, --yes', 'skip the confirmation prompt')
    .action(async (id: string, { repository, yes }: InRepository & { yes?: boolean }) => {
      const context = await openContext(close)
      await inItsProject(context, id, async place => {
        const { number } = await context.client.pullRequests.get({ ...place, repository })
        await confirm(context, `Close #${number} of card ${id} unmerged?`, yes)
        await context.client.pullRequests.close({ ...place, repository })
        context.out.done(`Closed #${number}.`)
      })
    })
  example(close, 'board cards pr close 12')
}
