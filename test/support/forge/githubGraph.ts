import type { ForgeState } from './forgeState.ts'
import { nodeId } from './githubRecords.ts'
import type { Routes } from './wire.ts'

/** Operations that only GitHub's GraphQL API has: drafts, and resolved threads. A query is recognized by the names in it. */
export const gitHubGraph = (state: ForgeState): Routes => ({
  'POST /api/graphql': ({ body, actor }) => {
    const { query, variables } = body as { query: string; variables: Record<string, any> }
    const failed = (type: string, message: string) => ({ body: { data: null, errors: [{ type, message, path: [] }] } })
    const draft = /\b(convertPullRequestToDraft|markPullRequestReadyForReview)\b/.exec(query)?.[1]
    if (draft !== undefined) {
      const pull = state.pulls.find(({ id }) => nodeId('PullRequest', id) === variables.id)
      if (!pull)
        return failed('NOT_FOUND', `Could not resolve to a node with the global id of '${String(variables.id)}'`)
      state.editPull(pull, { draft: draft === 'convertPullRequestToDraft' }, actor)
      return { body: { data: { [draft]: { clientMutationId: null } } } }
    }
    if (!query.includes('reviewThreads')) return failed('INVALID', 'Parse error')
    const pull = state.pulls.find(({ number }) => number === variables.number)
    if (!pull) return failed('NOT_FOUND', 'Could not resolve to a PullRequest.')
    const roots = state.lineComments.filter(
      ({ number, inReplyTo }) => number === variables.number && inReplyTo === null,
    )
    const nodes = roots.map(({ id, resolved }) => ({
      isResolved: resolved,
      comments: { nodes: [{ databaseId: id }] },
    }))
    return { body: { data: { repository: { pullRequest: { reviewThreads: { nodes } } } } } }
  },
})
