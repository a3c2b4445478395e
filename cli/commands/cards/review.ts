import { Option, type Command } from 'commander'
import type { Contract } from '../../../src/contract/index.ts'
import type { Output } from '../../../src/contract/route.ts'
import { getCard, inItsProject, type CardPlace } from '../../cards/cardApi.ts'
import { reviewWords } from '../../cards/cardColumns.ts'
import { repositoryOption } from '../../cards/repositoryOption.ts'
import { readComments, readLines, type CommentInput } from '../../cards/reviewComments.ts'
import { openContext, type Context } from '../../context/context.ts'
import { exitOf, usage } from '../../failures/failure.ts'
import { example, prints } from '../../help/help.ts'
import { readText } from '../../input/prompt.ts'
import type { Column } from '../../output/output.ts'
import { escapeControls } from '../../output/text.ts'

type Review = Output<Contract['reviews']['list']>[number]
type Draft = Output<Contract['reviews']['getDraft']>
type Verdict = Review['verdict']

interface ReviewOptions {
  message?: string
  file?: string
  repository?: string
  line?: string
  side?: 'old' | 'new'
  comments?: string
  send?: boolean
  approve?: boolean
  requestChanges?: boolean
  drop?: boolean
  list?: boolean
}

const reviewFields: Column<Review>[] = [
  { name: 'id', style: 'id', value: review => review.id },
  { name: 'round', value: review => review.round },
  { name: 'verdict', value: review => review.verdict },
  { name: 'author', value: review => review.author.displayName },
  { name: 'comments', value: review => review.comments.length },
  { name: 'createdAt', header: 'Sent', style: 'time', value: review => review.createdAt },
  ...(['body', 'baseCommit', 'headCommit', 'cardId'] as const).map((name): Column<Review> => ({
    name,
    hidden: true,
    value: review => review[name],
  })),
]
const draftFields: Column<Draft>[] = [
  { name: 'comments', value: draft => draft.comments.length },
  { name: 'body', value: draft => draft.body },
  { name: 'updatedAt', header: 'Updated', style: 'time', value: draft => draft.updatedAt },
]
const verdicts: Record<Verdict, string> = {
  comment: 'commented',
  request_changes: 'requested changes',
  approve: 'approved',
}

export function registerVerbs(cards: Command): void {
  const review = cards
    .command('review <card>')
    .summary("Review a card's work")
    .description(
      "Show the reviews of a card with their comments and the agent's answers. With a text or comments, add them to your draft. The server keeps the draft until you send it as comments, as an approval, or as a request for changes to the card's agent.",
    )
    .option('-m, --message <text>', 'comment on the line, or on the whole change if --file is omitted')
    .option('--file <path>', 'path of the commented file in the diff')
    .addOption(repositoryOption('repository of the file (default: home, the repository of the project folder)'))
    .option('--line <lines>', 'line (12) or lines (12-15) in the diff')
    .addOption(
      new Option('--side <side>', 'side of the diff that the line numbers refer to (default: new)').choices([
        'old',
        'new',
      ]),
    )
    .option('-F, --comments <file>', 'file with one comment per line (path:line: text, or JSON), or - for stdin')
    .option('--send', 'send the draft as comments')
    .addOption(new Option('--approve', 'send the draft, and approve the work').conflicts('requestChanges'))
    .option('--request-changes', 'send the draft as a request for changes to the agent')
    .addOption(new Option('--drop', 'discard your draft').conflicts(['send', 'approve', 'requestChanges']))
    .addOption(
      new Option('--list', 'list the reviews, one line each').conflicts([
        'message',
        'file',
        'comments',
        'send',
        'approve',
        'requestChanges',
        'drop',
      ]),
    )
    .action(async (id: string, options: ReviewOptions) => {
      const added = await readAdded(options)
      const context = await openContext(review)
      await inItsProject(context, id, place => performReview(context, place, options, added))
    })
  prints(review, 'reviews.list')
  example(
    review,
    'board cards review 12',
    'board cards review 12 --file src/a.ts --line 12-15 -m "Why twice?"',
    'board cards review 12 --request-changes -m "Nearly there."',
    'board cards review 12 --approve',
    'board cards review 12 --list',
    'npx oxlint -f unix | board cards review 12 -F - --send',
  )
}

interface Added {
  body: string | undefined
  comments: CommentInput[]
}

/** Parses the comments and the text from the options. @throws Failure (usage) */
async function readAdded({ message, file, repository, line, side, comments: list }: ReviewOptions): Promise<Added> {
  if (message?.trim() === '') throw usage('the text is empty')
  if (file === undefined && (line !== undefined || side !== undefined))
    throw usage(`--${line === undefined ? 'side' : 'line'} requires --file`)
  const read = list === undefined ? [] : readComments(await readText(list, '-F'), list)
  const comments = read.map(comment => ({ repository, ...comment }))
  if (file === undefined) return { body: message, comments }
  if (line === undefined || message === undefined)
    throw usage(`${line === undefined ? 'no line is specified' : 'the comment has no text'}`, {
      hint: 'for example: --file src/a.ts --line 12 -m "Why twice?"',
    })
  return {
    body: undefined,
    comments: [...comments, { repository, path: file, side, ...readLines(line), body: message }],
  }
}

async function performReview(context: Context, place: CardPlace, options: ReviewOptions, added: Added): Promise<void> {
  const { client, out } = context
  const verdict = verdictOf(options)
  const isAdding = added.body !== undefined || added.comments.length > 0
  if (options.drop) {
    await client.reviews.putDraft({ ...place, body: '', comments: [] })
    if (!isAdding) return out.done(`Your draft for card ${place.cardId} was discarded.`)
  }
  if (verdict) return isAdding ? sendWith(context, place, verdict, added) : send(context, place, verdict)
  if (!isAdding) return showReviews(context, place, options)
  const { draft } = await addToDraft(context, place, added)
  out.done(
    `Your draft for card ${place.cardId} has ${countText(draft.comments.length)}. Send it: board cards review ${place.cardId} --request-changes`,
  )
  if (!out.quiet) await out.record(draft, draftFields)
}

const verdictOf = ({ send: isSent, approve, requestChanges }: ReviewOptions): Verdict | undefined =>
  approve ? 'approve' : requestChanges ? 'request_changes' : isSent ? 'comment' : undefined

const countText = (comments: number): string => `${comments} ${comments === 1 ? 'comment' : 'comments'}`

async function addToDraft(
  { client }: Context,
  place: CardPlace,
  { body, comments }: Added,
): Promise<{ before: Draft; draft: Draft }> {
  const before = await client.reviews.getDraft(place)
  const draft = await client.reviews.putDraft({
    ...place,
    body: body === undefined ? before.body : [before.body, body].filter(Boolean).join('\n\n'),
    comments: [...before.comments, ...comments],
  })
  return { before, draft }
}

/** Adds to the draft and sends it. If sending fails, restores the draft, so that a retry does not duplicate comments. */
async function sendWith(context: Context, place: CardPlace, verdict: Verdict, added: Added): Promise<void> {
  const { before, draft } = await addToDraft(context, place, added)
  const { reviews } = context.client
  const takeBack = async () => {
    if ((await reviews.getDraft(place)).updatedAt === draft.updatedAt)
      await reviews.putDraft({ ...place, body: before.body, comments: before.comments })
  }
  await send(context, place, verdict).catch(async (error: unknown) => {
    await takeBack().catch(() => undefined)
    throw error
  })
}

async function send({ client, out }: Context, place: CardPlace, verdict: Verdict): Promise<void> {
  if (verdict !== 'approve' && (await client.reviews.getDraft(place)).updatedAt === null)
    throw usage(`there is nothing to send: you have no draft for card ${place.cardId}`, {
      hint: `add a comment: board cards review ${place.cardId} --${verdict === 'comment' ? 'send' : 'request-changes'} -m "Why twice?"`,
    })
  const review = await client.reviews.create({ ...place, verdict })
  const results = {
    comment: `Sent with ${countText(review.comments.length)}.`,
    approve: `Approved card ${place.cardId}.`,
    request_changes: `The agent of card ${place.cardId} received ${countText(review.comments.length)}.`,
  }
  out.done(results[verdict])
  await out.record(review, reviewFields)
}

async function showReviews(context: Context, place: CardPlace, { list }: ReviewOptions): Promise<void> {
  const { client, out } = context
  const reviews = await client.reviews.list(place)
  if (list || out.json || out.quiet) return out.list(reviews, reviewFields, { empty: 'No reviews.' })
  const [card, draft] = await Promise.all([getCard(context, place), ownDraft(context, place)])
  const state = reviewWords(card) ?? 'not reviewed yet'
  const own = draft.updatedAt === null ? '' : `\nYour draft\n\n${withComments(draft.body, draft.comments)}`
  const text = `Card ${place.cardId}: ${state}\n${reviews.map(reviewText).join('')}${own}`
  await out.text(out.terminal.stdout ? escapeControls(text, true) : text)
}

/** Returns the caller's draft. It is empty for a caller who can only read reviews. */
const ownDraft = ({ client }: Context, place: CardPlace): Promise<Draft> =>
  client.reviews.getDraft(place).catch((error: unknown) => {
    if (exitOf(error) === 'denied') return { body: '', comments: [], updatedAt: null }
    throw error
  })

const reviewText = ({ id, round, verdict, author, createdAt, body, comments }: Review): string =>
  `\nReview ${id}, round ${round}: ${author.displayName || 'a deleted user'} ${verdicts[verdict]} ${createdAt.slice(0, 16).replace('T', ' ')} UTC\n\n${withComments(body, comments)}`

type Shown = Draft['comments'][number] & Partial<Pick<Review['comments'][number], 'text' | 'answer' | 'resolvedAt'>>

const withComments = (body: string, comments: readonly Shown[]): string =>
  [body.trim(), ...comments.map(commentText)]
    .filter(Boolean)
    .map(part => `${indent(part)}\n`)
    .join('\n')

function commentText({ repository, path, side, startLine, line, text, body, answer, resolvedAt }: Shown): string {
  const lines = startLine === null || startLine === line ? `${line}` : `${startLine}-${line}`
  const quoted = text?.split('\n').map(each => `> ${each}\n`) ?? []
  const answered = answer ? `\n\nAnswer: ${answer.trim()}` : ''
  return `${repository && `${repository}: `}${path}:${lines}${side === 'old' ? ' (before)' : ''}${resolvedAt ? ' [resolved]' : ''}\n${quoted.join('')}${body.trim()}${answered}`
}

const indent = (text: string): string => text.replace(/^(?=.)/gm, '  ')
