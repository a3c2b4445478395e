import * as v from 'valibot'
import { CardStatus, Id, limit, queryInteger, text } from './fields.ts'
import { get, userOr } from './route.ts'

/** `excerpt` is what stands around the first word that was found in the text. */
export const Hit = v.object({
  type: v.picklist(['card', 'board', 'project']),
  id: Id,
  projectId: Id,
  projectName: v.string(),
  title: v.string(),
  excerpt: v.nullable(v.string()),
  columnName: v.nullable(v.string()),
  status: v.nullable(CardStatus),
  archived: v.boolean(),
})
const Search = v.strictObject({
  q: v.pipe(
    text(1, 200),
    v.check(q => /[\p{L}\p{N}]/u.test(q), 'must hold a letter or a digit'),
  ),
  projectId: v.optional(queryInteger(1)),
  limit: limit(20, 100),
})

export const search = {
  find: get('/api/search', {
    fails: ['PROJECT_NOT_FOUND'],
    who: userOr('cards.read'),
    tool: {
      name: 'search',
      title: 'Search',
      group: 'find',
      does: 'reads',
      usual: { limit: 10 },
      brief: ['type', 'id', 'projectId', 'projectName', 'title', 'excerpt', 'columnName', 'status', 'archived'],
    },
    summary: 'Find cards, boards and projects by words; the last word may be its beginning',
    input: Search,
    output: v.array(Hit),
  }),
}
