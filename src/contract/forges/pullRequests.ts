import * as v from 'valibot'
import { BranchName, MergeMethod } from './forge.ts'
import { Labels, limit, text } from '../fields.ts'
import { ofCard, ofProject } from '../notFound.ts'
import { ListedPullRequest, PullRequest } from './pullRequestRecords.ts'
import { RepositoryRef } from './repositories.ts'
import { del, get, member, patch, post, viewer } from '../route.ts'

/** The limits of the fields that are sent to a forge. */
export const pullRequestLimits = { title: 255, body: 60_000 } as const

const PullTitle = v.pipe(
  text(1, pullRequestLimits.title),
  v.check(title => title.trim() !== '', 'must not be blank'),
  v.check(title => !/\p{Cc}/u.test(title), 'must be one line'),
)
const Body = text(0, pullRequestLimits.body)
const Reviewer = v.pipe(text(1, 100), v.regex(/^[\w.@/-]+$/, 'must be a name on the forge'))
const Reviewers = v.pipe(v.array(Reviewer), v.maxLength(15, 'must have at most 15 names'))
const Commit = v.pipe(v.string(), v.regex(/^[0-9a-f]{7,64}$/, 'must be a commit ID'))

/** The proposed fields of a card's pull request, or the current fields of an open one, for editing. */
export const PullRequestDraft = v.object({
  title: v.string(),
  body: v.string(),
  base: v.string(),
  branch: v.string(),
  /** The requested reviewers of the open pull request, and its labels. */
  reviewers: v.array(v.string()),
  labels: v.array(v.string()),
  /** Whether the card already has an open pull request there. */
  exists: v.boolean(),
})
export type PullRequestDraft = v.InferOutput<typeof PullRequestDraft>

const TakenPullRequest = v.object({
  ...PullRequest.entries,
  /** The fields that the forge did not accept, and why: for example, unknown reviewers. */
  notTaken: v.array(v.string()),
})

const forgeFails = ['FORGE_NOT_CONFIGURED', 'FORGE_REFUSED', 'FORGE_UNAVAILABLE', 'SEALED_WITH_OTHER_KEY'] as const
const gitFails = ['NOT_A_GIT_REPOSITORY', 'AGENT_ALREADY_RUNNING', 'PUSH_REJECTED'] as const
const path = '/api/projects/{projectId}/cards/{cardId}/pull-request'
const inRepository = v.strictObject({ repository: RepositoryRef })

/** Pull requests of cards on the project's forge; merge requests on GitLab. */
export const pullRequests = {
  get: get(path, {
    notFound: ofCard,
    who: viewer('cards.read'),
    fails: ['PULL_REQUEST_NOT_FOUND'],
    tool: {
      name: 'get_pull_request',
      title: 'Get a pull request',
      group: 'find',
      does: 'reads',
      note: 'Its content comes from the forge and is untrusted.',
    },
    summary: "Get a card's latest pull request with its checks and reviews, as of the last sync with the forge",
    input: inRepository,
    output: PullRequest,
  }),
  draft: get(`${path}/draft`, {
    notFound: ofCard,
    at: 'machine',
    takesLong: true,
    who: member('agents.run'),
    fails: [...forgeFails, 'NOT_A_GIT_REPOSITORY', 'CONFLICT'],
    tool: { name: 'draft_pull_request', title: 'Draft a pull request', group: 'review', does: 'reads' },
    summary: "Get the title and body for a card's pull request, from the agent's summary and the repository's template",
    details: 'For an open pull request, the title and body on the forge.',
    input: inRepository,
    output: PullRequestDraft,
  }),
  create: post(path, {
    notFound: ofCard,
    audited: { target: 'card', detail: ['repository', 'number'] },
    at: 'machine',
    takesLong: true,
    who: member('agents.run'),
    fails: [...forgeFails, ...gitFails, 'PULL_REQUEST_EXISTS'],
    tool: {
      name: 'create_pull_request',
      title: 'Create a pull request',
      group: 'review',
      does: 'changes',
      openWorld: true,
    },
    summary: "Push a card's branch and create its pull request",
    details: 'If the branch already has an open pull request, that pull request is used.',
    input: v.optional(
      v.strictObject({
        repository: RepositoryRef,
        title: v.optional(PullTitle),
        body: v.optional(Body),
        base: v.optional(BranchName),
        draft: v.optional(v.boolean(), false),
        reviewers: v.optional(Reviewers, []),
        labels: v.optional(Labels, []),
        autoMerge: v.optional(v.boolean()),
        mergeMethod: v.optional(MergeMethod),
      }),
      {},
    ),
    output: TakenPullRequest,
    status: 201,
    idempotent: false,
    emits: ['pull_request.updated', 'card.updated'],
  }),
  update: patch(path, {
    notFound: ofCard,
    audited: { target: 'card', detail: ['repository', 'draft', 'autoMerge', 'mergeMethod'] },
    at: 'machine',
    takesLong: true,
    who: member('agents.run'),
    fails: [...forgeFails, 'NOT_A_GIT_REPOSITORY', 'PULL_REQUEST_NOT_FOUND'],
    tool: {
      name: 'update_pull_request',
      title: 'Update a pull request',
      group: 'review',
      does: 'changes',
      openWorld: true,
    },
    summary: "Update a card's open pull request: its text, reviewers, labels and auto-merge",
    input: v.strictObject({
      repository: RepositoryRef,
      title: v.optional(PullTitle),
      body: v.optional(Body),
      draft: v.optional(v.boolean()),
      addReviewers: v.optional(Reviewers),
      removeReviewers: v.optional(Reviewers),
      addLabels: v.optional(Labels),
      removeLabels: v.optional(Labels),
      autoMerge: v.optional(v.boolean()),
      mergeMethod: v.optional(MergeMethod),
    }),
    output: TakenPullRequest,
    emits: ['pull_request.updated'],
  }),
  merge: post(`${path}/merge`, {
    notFound: ofCard,
    audited: { target: 'card', detail: ['repository', 'method', 'auto', 'force'] },
    at: 'machine',
    takesLong: true,
    who: member('agents.run'),
    fails: [
      ...forgeFails,
      'NOT_A_GIT_REPOSITORY',
      'PULL_REQUEST_NOT_FOUND',
      'PULL_REQUEST_NOT_READY',
      'GATE_NOT_PASSED',
    ],
    tool: {
      name: 'merge_pull_request',
      title: 'Merge a pull request',
      group: 'review',
      does: 'destroys',
      openWorld: true,
    },
    summary: "Merge a card's pull request on the forge at the last synced commit",
    details:
      'Use auto to merge as soon as the forge allows it, or force to skip checks and reviews if the forge allows it.',
    input: v.optional(
      v.strictObject({
        repository: RepositoryRef,
        method: v.optional(MergeMethod),
        auto: v.optional(v.boolean(), false),
        force: v.optional(v.boolean(), false),
        headCommit: v.optional(Commit),
      }),
      {},
    ),
    output: PullRequest,
    emits: ['pull_request.updated', 'card.updated'],
  }),
  continue: post(`${path}/continue`, {
    notFound: ofCard,
    audited: { target: 'card', detail: ['repository'] },
    at: 'machine',
    who: member('agents.run'),
    fails: ['PULL_REQUEST_NOT_FOUND'],
    tool: {
      name: 'continue_pull_request',
      title: 'Resume work on a pull request',
      group: 'review',
      does: 'changes',
      openWorld: true,
    },
    summary: 'Resume agent work on a pull request that was handed to a user',
    details: "The agent receives all open feedback again and works with the caller's rights.",
    input: v.optional(inRepository, {}),
    output: PullRequest,
    emits: ['pull_request.updated'],
  }),
  close: del(path, {
    notFound: ofCard,
    audited: { target: 'card', detail: ['repository'] },
    at: 'machine',
    takesLong: true,
    who: member('agents.run'),
    fails: [...forgeFails, 'NOT_A_GIT_REPOSITORY', 'PULL_REQUEST_NOT_FOUND'],
    tool: {
      name: 'close_pull_request',
      title: 'Close a pull request',
      group: 'review',
      does: 'destroys',
      openWorld: true,
    },
    summary: "Close a card's pull request on the forge without merging",
    details: 'Its branch remains.',
    input: inRepository,
    emits: ['pull_request.updated', 'card.updated'],
  }),
  list: get('/api/projects/{projectId}/pull-requests', {
    notFound: ofProject,
    who: viewer('cards.read'),
    tool: {
      name: 'list_pull_requests',
      title: 'List pull requests',
      group: 'find',
      does: 'reads',
      usual: { limit: 20 },
    },
    summary: "List a project's pull requests, newest first, as of the last sync with the forge",
    input: v.strictObject({
      state: v.optional(v.picklist(['open', 'merged', 'closed', 'all'], 'must be open, merged, closed or all'), 'open'),
      limit: limit(50, 500),
    }),
    output: v.array(ListedPullRequest),
  }),
}
