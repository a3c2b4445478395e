import { Option, type Command } from 'commander'
import { activityWords } from '../../../src/boardModel/activityWords.ts'
import type { Contract } from '../../../src/contract/index.ts'
import type { Output } from '../../../src/contract/route.ts'
import { inItsProject, type CardPlace } from '../../cards/cardApi.ts'
import { parseNames, resolvePeople } from '../../cards/planOptions.ts'
import { openContext, type Context } from '../../context/context.ts'
import { idOf } from '../../context/resolve.ts'
import { usage } from '../../failures/failure.ts'
import { example, prints } from '../../help/help.ts'
import { addFileOption, readOptionalText, type TextOptions } from '../../input/messageText.ts'
import { confirm } from '../../input/prompt.ts'
import type { Column } from '../../output/output.ts'
import { escapeControls, relativeTime } from '../../output/text.ts'
import { addNewestOptions, printNewest, readNewest, type NewestOptions } from '../../requests/cursorList.ts'

type Comment = Output<Contract['comments']['list']>['items'][number]
type Activity = Output<Contract['activity']['list']>['items'][number]
interface CommentOptions extends TextOptions, NewestOptions {
  mention?: string[]
  edit?: string
  delete?: string
  yes?: boolean
}

const commentColumns: Column<Comment>[] = [
  { name: 'id', style: 'id', align: 'right', value: comment => comment.id },
  { name: 'author', value: ({ author }) => author.displayName },
  { name: 'createdAt', header: 'WRITTEN', style: 'time', value: comment => comment.createdAt },
  { name: 'body', style: 'text', value: comment => comment.body },
  { name: 'editedAt', hidden: true, value: comment => comment.editedAt },
  { name: 'cardId', hidden: true, value: comment => comment.cardId },
]
const activityColumns: Column<Activity>[] = [
  { name: 'id', hidden: true, value: entry => entry.id },
  { name: 'at', header: 'WHEN', style: 'time', value: entry => entry.at },
  { name: 'actor', header: 'WHO', value: ({ actor }) => actor.name },
  { name: 'action', value: entry => entry.action, spare: true },
  { name: 'changes', header: 'WHAT', style: 'text', value: activityWords },
]

export function registerVerbs(cards: Command): void {
  const comment = cards
    .command('comment <card> [text]')
    .summary("Write and read a card's comments")
    .description(
      "Write a comment on a card, in Markdown. Without a text, print the card's comments, newest last. Comments are for people. To send a message to the card's agent, use agents send.",
    )
    .option('--mention <people>', 'people to notify, separated by commas: me, a name, an ID', parseNames)
    .addOption(new Option('--edit <id>', 'ID of your comment to replace with the text').conflicts('mention'))
    .addOption(new Option('--delete <id>', 'ID of the comment to delete').conflicts(['edit', 'mention', 'file']))
    .option('-y, --yes', 'skip the confirmation prompt')
    .action(async (id: string, given: string | undefined, options: CommentOptions) => {
      const text = await readOptionalText(given, options)
      const context = await openContext(comment)
      await inItsProject(context, id, place => performComment(context, place, text, options))
    })
  prints(comment, 'comments.create')
  example(
    addNewestOptions(addFileOption(comment, 'text'), 50, 'comments'),
    'board cards comment 12 "The tests are slow since Monday."',
    'board cards comment 12 "Can you look?" --mention ada',
    'board cards comment 12',
    'git log --oneline main.. | board cards comment 12 -F -',
    'board cards comment 12 --edit 31 "They are slow since Tuesday."',
    'board cards comment 12 --delete 31',
  )
  const activity = cards
    .command('activity <card>')
    .summary('List the activity of a card')
    .description('List the activity of a card with the authors, newest first.')
    .action(async (id: string, options: NewestOptions) => {
      const context = await openContext(activity)
      await inItsProject(context, id, place =>
        printNewest(
          context.out,
          options,
          asked => context.client.activity.list({ ...place, ...asked }),
          activityColumns,
          { one: 'entry', many: 'entries' },
        ),
      )
    })
  prints(activity, 'activity.list')
  example(
    addNewestOptions(activity, 50, 'entries'),
    'board cards activity 12',
    'board cards activity 12 --all --json at,actor,action,changes',
  )
}

async function performComment(
  context: Context,
  place: CardPlace,
  text: string | undefined,
  options: CommentOptions,
): Promise<void> {
  const { client, out } = context
  if (options.delete !== undefined) return remove(context, place, idOf(options.delete), text, options.yes)
  if (text === undefined) {
    if (options.edit !== undefined || options.mention) throw usage('which text?')
    return showComments(context, place, options)
  }
  const body = (await mentionPrefix(context, place, options.mention)) + text
  if (options.edit !== undefined) {
    const edited = await client.comments.update({ ...place, commentId: idOf(options.edit), body })
    out.done(`Changed comment ${edited.id}.`)
    return out.record(edited, commentColumns)
  }
  const made = await client.comments.create({ ...place, body })
  await out.record(made, commentColumns)
}

async function remove(
  context: Context,
  place: CardPlace,
  commentId: string,
  text: string | undefined,
  yes: boolean | undefined,
): Promise<void> {
  if (text !== undefined) throw usage('--delete does not accept a text')
  await confirm(context, `Delete comment ${commentId} of card ${place.cardId}?`, yes)
  await context.client.comments.delete({ ...place, commentId })
  context.out.done(`Deleted comment ${commentId}.`)
}

/** Returns `@[name](id)` for each person, as a prefix of the comment. */
async function mentionPrefix(
  context: Context,
  { projectId }: CardPlace,
  wanted: string[] | undefined,
): Promise<string> {
  const ids = await resolvePeople(context, projectId, wanted)
  if (!ids || ids.length === 0) return ''
  const people = new Map(
    (await context.client.members.people({ projectId })).map(({ userId, displayName }) => [userId, displayName]),
  )
  return ids.map(id => `@[${(people.get(id) ?? id).replace(/[[\]\n]/g, '')}](${id}) `).join('')
}

async function showComments({ client, out }: Context, place: CardPlace, options: NewestOptions): Promise<void> {
  const { found, isWhole } = await readNewest(options, asked => client.comments.list({ ...place, ...asked }))
  const oldestFirst = found.toReversed()
  if (!out.terminal.stdout || out.json || out.quiet || found.length === 0)
    await out.list(oldestFirst, commentColumns, { empty: 'No comments.' })
  else await out.text(escapeControls(oldestFirst.map(commentText).join('\n'), true))
  if (!isWhole) out.warn(`there are more comments; these are the newest ${found.length}. --all lists every comment`)
}

const commentText = ({ id, author, createdAt, editedAt, body }: Comment): string =>
  `${escapeControls(author.displayName)}${author.kind === 'user' ? '' : ` (${author.kind})`}, ${relativeTime(createdAt)}${editedAt ? ', edited' : ''} · ${id}\n${body.trim().replace(/^(?=.)/gm, '  ')}\n`
