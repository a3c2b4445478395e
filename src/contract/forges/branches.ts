import * as v from 'valibot'
import { ofCard } from '../notFound.ts'
import { CardRepository, CheckedMerge, CheckMerge, RepositoryRef } from './repositories.ts'
import { get, member, post, viewer } from '../route.ts'

const Pushed = v.object({
  remote: v.string(),
  branch: v.string(),
  commit: v.string(),
  /** False if the remote already had the branch. */
  pushed: v.boolean(),
})
const Updated = v.object({
  branch: v.nullable(v.string()),
  /** The commit of the branch. Null while its agent resolves the conflicts. */
  commit: v.nullable(v.string()),
  /** The newest commit of the base. */
  baseCommit: v.string(),
  /** False if the branch already contained the newest commit of the base. */
  updated: v.boolean(),
  /** A remark about the base, for example that it could not be fetched. */
  remark: v.nullable(v.string()),
  /** Whether the agent was asked to resolve the conflicts. In this case, nothing has changed yet. */
  resolving: v.boolean(),
})

/** The routes of a card's branches, in the project's repositories. */
export const branches = {
  repositories: get('/api/projects/{projectId}/cards/{cardId}/repositories', {
    notFound: ofCard,
    at: 'machine',
    who: viewer('agents.read'),
    fails: ['CONFLICT'],
    tool: { name: 'list_repositories', title: 'List repositories', group: 'find', does: 'reads' },
    summary: "List a card's branches in the project's repositories, home repository first",
    output: v.array(CardRepository),
  }),
  checkMerge: get('/api/projects/{projectId}/cards/{cardId}/merge', {
    notFound: ofCard,
    at: 'machine',
    takesLong: true,
    who: viewer('agents.read'),
    fails: ['NOT_A_GIT_REPOSITORY', 'CONFLICT'],
    summary: "Check whether a card's branches can be merged, without changing them",
    input: CheckMerge,
    output: v.array(CheckedMerge),
  }),
  push: post('/api/projects/{projectId}/cards/{cardId}/push', {
    notFound: ofCard,
    audited: { target: 'card', detail: ['force', 'repository'] },
    at: 'machine',
    takesLong: true,
    who: member('agents.run'),
    fails: ['NOT_A_GIT_REPOSITORY', 'AGENT_ALREADY_RUNNING', 'PUSH_REJECTED', 'CONFLICT', 'SEALED_WITH_OTHER_KEY'],
    tool: { name: 'push_branch', title: 'Push a branch', group: 'review', does: 'changes', openWorld: true },
    summary: "Push a card's branch to its repository's remote",
    details: 'Use force to replace the last fetched version of the remote branch.',
    input: v.optional(v.strictObject({ force: v.optional(v.boolean(), false), repository: RepositoryRef }), {}),
    output: Pushed,
  }),
  update: post('/api/projects/{projectId}/cards/{cardId}/update', {
    notFound: ofCard,
    audited: { target: 'card', detail: ['strategy', 'resolve', 'repository'] },
    at: 'machine',
    takesLong: true,
    who: member('agents.run'),
    fails: [
      'NOT_A_GIT_REPOSITORY',
      'AGENT_ALREADY_RUNNING',
      'MERGE_CONFLICT',
      'WORKTREE_DIRTY',
      'CONFLICT',
      'SEALED_WITH_OTHER_KEY',
    ],
    tool: {
      name: 'update_branch',
      title: 'Update a branch with its base',
      group: 'review',
      does: 'changes',
      openWorld: true,
    },
    summary: "Update a card's branch with its base",
    details: "A conflict leaves the branch unchanged. With resolve, the card's agent resolves the conflict.",
    input: v.optional(
      v.strictObject({
        strategy: v.optional(v.picklist(['merge', 'rebase'], 'must be merge or rebase'), 'merge'),
        resolve: v.optional(v.boolean(), false),
        repository: RepositoryRef,
      }),
      {},
    ),
    output: Updated,
    emits: ['card.updated'],
  }),
}
