import { Option, type Command } from 'commander'
import { MergeMethod } from '../../../src/contract/forges/forge.ts'
import { inItsProject, type CardPlace } from '../../cards/cardApi.ts'
import { pullFields } from '../../cards/pullRequests.ts'
import { repositoryOption } from '../../cards/repositoryOption.ts'
import { openContext, type Context } from '../../context/context.ts'
import { Failure, usage } from '../../failures/failure.ts'
import { example, prints } from '../../help/help.ts'
import { editText } from '../../input/editor.ts'
import { readText } from '../../input/prompt.ts'
import { escapeControls } from '../../output/text.ts'
import { collect } from '../../parsing/arguments.ts'

export interface InRepository {
  repository?: string
}
/** The title and body of a pull request. */
interface Texts {
  title?: string
  body?: string
}
interface EditOptions extends InRepository, Texts {
  bodyFile?: string
  editor?: boolean
  draft?: boolean
  ready?: boolean
  auto?: boolean
  mergeMethod?: MergeMethod
  addReviewer?: string[]
  removeReviewer?: string[]
  addLabel?: string[]
  removeLabel?: string[]
}

export const withRepository = (command: Command): Command =>
  command.addOption(repositoryOption('repository of the project (default: home, the repository of the project folder)'))

export function registerEdit(pr: Command): void {
  const command = withRepository(
    pr
      .command('edit <card>')
      .summary("Change a card's open pull request")
      .description(
        "Change the text, reviewers, labels, draft state or automatic merge of a card's open pull request on the forge. The last line of its body always names the card.",
      ),
  )
    .option('-t, --title <title>', 'new title')
    .option('-b, --body <text>', 'new text of the body')
    .addOption(new Option('-F, --body-file <file>', 'file with the body, or - for stdin').conflicts('body'))
    .addOption(
      new Option('-e, --editor', 'edit the current title and body in your editor').conflicts([
        'title',
        'body',
        'bodyFile',
      ]),
    )
    .addOption(new Option('-d, --draft', 'turn it into a draft').conflicts('ready'))
    .option('--ready', 'mark it as ready for review')
    .option('--add-reviewer <name>', 'reviewer, by name on the forge (repeatable)', collect)
    .option('--remove-reviewer <name>', 'reviewer to remove (repeatable)', collect)
    .option('--add-label <name>', 'label to add (repeatable)', collect)
    .option('--remove-label <name>', 'label to remove (repeatable)', collect)
    .option('--auto', 'merge as soon as the forge allows it')
    .option('--no-auto', 'turn off the automatic merge')
    .addOption(new Option('--merge-method <how>', 'merge method').choices(MergeMethod.options))
    .action(async (id: string, { repository, ...options }: EditOptions) => {
      if (Object.keys(options).length === 0)
        throw usage('nothing to change', {
          hint: 'specify --title, --body, --body-file, --editor, --draft, --ready, --add-reviewer, --remove-reviewer, --add-label, --remove-label, --auto, --no-auto or --merge-method',
          see: 'board cards pr edit --help',
        })
      const context = await openContext(command)
      const body = options.bodyFile === undefined ? options.body : await readText(options.bodyFile, '-F')
      const own = changeOf(options)
      await inItsProject(context, id, place => {
        const at = { ...place, repository }
        return options.editor
          ? editTexts(context, at, async texts => {
              const wanted = { ...own, ...texts }
              if (Object.values(wanted).every(each => each === undefined))
                return context.out.done('Nothing was changed.')
              await changePullRequest(context, id, { ...at, ...wanted })
            })
          : changePullRequest(context, id, { ...at, ...own, title: options.title, body })
      })
    })
  prints(command, 'pullRequests.get')
  example(
    command,
    'board cards pr edit 12 --title "Put a roof on"',
    'board cards pr edit 12 --editor',
    'board cards pr edit 12 --add-reviewer ann --remove-label draft',
    'board cards pr edit 12 --ready --auto --merge-method squash',
  )
}

const changeOf = ({ draft, ready, auto: autoMerge, mergeMethod, ...names }: EditOptions) => ({
  draft: draft ? true : ready ? false : undefined,
  addReviewers: names.addReviewer,
  removeReviewers: names.removeReviewer,
  addLabels: names.addLabel,
  removeLabels: names.removeLabel,
  autoMerge,
  mergeMethod,
})

type Change = Parameters<Context['client']['pullRequests']['update']>[0]

async function changePullRequest({ client, out }: Context, id: string, wanted: Change): Promise<void> {
  const { notTaken, ...pull } = await client.pullRequests.update(wanted)
  if (notTaken.length === 0) out.done(`Changed #${pull.number} of card ${id}.`)
  await out.record(pull, pullFields)
  if (notTaken.length > 0)
    throw new Failure('failure', `the forge rejected some of the changes: ${escapeControls(notTaken.join(' '))}`, {
      hint: `the other changes were applied; to check: board cards pr view ${id} --web`,
    })
}

/**
 * Opens title and body of a card's open or future pull request in the person's editor, and saves the changes.
 * @throws Failure (usage) without a terminal
 */
export async function editTexts(
  context: Context,
  place: CardPlace & InRepository,
  save: (texts: Texts) => Promise<void>,
): Promise<void> {
  if (!context.mayAsk) throw usage('--editor requires a terminal', { hint: 'specify --title and --body-file' })
  const before = await context.client.pullRequests.draft(place)
  await editText(`${before.title}\n\n${before.body}\n`, 'PULL_REQUEST.md', async text => {
    const [first = '', ...rest] = text.split('\n')
    const [title, body] = [first.trim(), rest.join('\n').trim()]
    if (title === '') throw usage('the first line must contain the title, but is empty; nothing was changed')
    await save({
      title: title === before.title ? undefined : title,
      body: body === before.body.trim() ? undefined : body,
    })
  })
}
