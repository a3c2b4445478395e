import * as v from 'valibot'
import { ForgeFailed, type Forge, type ForgeAddress, type ForgeComment, type ForgeReview } from '../forge.ts'
import { Count, Moment, Name } from '../forgeFields.ts'
import type { ForgeHttp } from '../forgeHttp.ts'
import { byTime } from '../reviewOrder.ts'
import { Note, projectPath, User } from './fields.ts'

const Reviewer = v.object({ user: User, state: v.string(), created_at: v.nullish(Moment) })
const Approvals = v.object({ approved_by: v.optional(v.array(v.object({ user: User })), []) })
const Position = v.object({
  new_path: v.nullish(Name),
  old_path: v.nullish(Name),
  new_line: v.nullish(Count),
  old_line: v.nullish(Count),
})
const PullNote = v.object({
  ...Note.entries,
  position: v.nullish(Position),
  resolved: v.optional(v.boolean(), false),
})
const Discussion = v.object({
  id: v.pipe(v.string(), v.regex(/^[0-9a-zA-Z_-]{1,100}$/)),
  notes: v.array(PullNote),
})
type Discussion = v.InferOutput<typeof Discussion>

/** Notes that GitLab itself adds to the discussion of a review. */
const systemNotes = {
  approved: /^approved this merge request/,
  changes_requested: /^requested changes/,
} as const
const all = { per_page: 100 }

type ReviewPart = Pick<
  Forge,
  'listReviews' | 'listPullComments' | 'commentOnPull' | 'listIssueComments' | 'commentOnIssue'
>

/** Approvals, requested changes and discussions on GitLab. */
export function gitLabReviews(http: ForgeHttp, address: ForgeAddress): ReviewPart {
  const project = projectPath(address)
  const pull = (number: number) => `${project}/merge_requests/${number}`
  const issue = (number: number) => `${project}/issues/${number}`
  const discussions = (number: number) => http.list(`${pull(number)}/discussions`, v.array(Discussion), all)
  return {
    listReviews: async number => {
      const [reviewers, approvals] = await Promise.all([
        // Older versions of GitLab respond with 404.
        withoutMissing(http.list(`${pull(number)}/reviewers`, v.array(Reviewer), all)),
        http.get(`${pull(number)}/approvals`, Approvals),
      ])
      const approved = approvals.approved_by.map(({ user }) => user.username)
      const asking = reviewers.filter(
        ({ state, user }) => state === 'requested_changes' && !approved.includes(user.username),
      )
      const remarking = reviewers.filter(({ state, user }) => state === 'reviewed' && !approved.includes(user.username))
      if (approved.length + asking.length + remarking.length === 0) return []
      const query = { sort: 'desc', order_by: 'created_at', ...all }
      const notes = (await http.get(`${pull(number)}/notes`, v.array(Note), query)).filter(({ system }) => system)
      return [
        ...approved.map(author => toReview('approved', author, notes)),
        ...asking.map(({ user }) => toReview('changes_requested', user.username, notes)),
        ...remarking.map(({ user }) => toReview('commented', user.username, notes)),
      ]
    },
    listPullComments: async number => (await discussions(number)).flatMap(toComments).sort(byTime),
    commentOnPull: async (number, body, to) => {
      const threads = to === undefined ? [] : await discussions(number)
      const thread = threads.find(({ notes }) => notes.some(({ id }) => to === `note:${id}`))
      const path = thread ? `${pull(number)}/discussions/${thread.id}/notes` : `${pull(number)}/notes`
      const made = await http.send('POST', path, { body }, PullNote)
      return thread ? toComments({ ...thread, notes: [...thread.notes, made] }).at(-1)! : toComment(made)
    },
    listIssueComments: async (number, since) => {
      const query = { sort: 'desc', order_by: 'updated_at', ...all }
      const notes = await http.list(`${issue(number)}/notes`, v.array(Note), query)
      const from = since === undefined ? 0 : Date.parse(since)
      return notes
        .filter(({ system, updated_at }) => !system && Date.parse(updated_at) >= from)
        .map(toComment)
        .toReversed()
        .sort(byTime)
    },
    commentOnIssue: async (number, body) =>
      toComment(await http.send('POST', `${issue(number)}/notes`, { body }, Note)),
  }
}

/** Uses GitLab's note about the verdict, because the verdict itself has neither a name nor a time. */
function toReview(state: ForgeReview['state'], author: string, notes: readonly Note[]): ForgeReview {
  const systemNote = state === 'approved' || state === 'changes_requested' ? systemNotes[state] : undefined
  const note = systemNote && notes.find(each => each.author === author && systemNote.test(each.body))
  return {
    id: note ? `note:${note.id}` : `${state}:${author}`,
    author,
    state,
    body: '',
    url: null,
    submittedAt: note?.created_at ?? new Date(0).toISOString(),
    commit: null,
  }
}

function toComments({ notes }: Discussion): ForgeComment[] {
  const written = notes.filter(({ system }) => !system)
  const [first] = written
  return written.map(note => {
    const position = note.position ?? first!.position
    return {
      ...toComment(note),
      path: position?.new_path ?? position?.old_path ?? null,
      line: position?.new_line ?? position?.old_line ?? null,
      inReplyTo: note === first ? null : `note:${first!.id}`,
      resolved: note.resolved,
    }
  })
}

const toComment = ({ id, author, body, created_at, updated_at }: Note): ForgeComment => ({
  id: `note:${id}`,
  author,
  body,
  path: null,
  line: null,
  reviewId: null,
  inReplyTo: null,
  resolved: false,
  createdAt: created_at,
  updatedAt: updated_at,
})

async function withoutMissing<T>(read: Promise<T[]>): Promise<T[]> {
  try {
    return await read
  } catch (error) {
    if (error instanceof ForgeFailed && error.reason === 'missing') return []
    throw error
  }
}
