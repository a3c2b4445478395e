import * as v from 'valibot'
import { CardStatus, Id, limit, queryInteger, text } from '../fields.ts'
import { get, userOr } from '../route.ts'

/**
 * `excerpt` is the text around the first word that was found. `foundIn` is `name` for projects and boards, `card` for a
 * card's title, prompt and labels, `comment` for its newest comment with the words, and `message` for its agent's last
 * message. `author` and `commentId` are the comment's.
 */
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
  foundIn: v.picklist(['name', 'card', 'comment', 'message']),
  author: v.nullable(v.string()),
  commentId: v.nullable(Id),
})
const Search = v.strictObject({
  q: v.pipe(
    text(1, 200),
    v.check(q => /[\p{L}\p{N}]/u.test(q), 'must contain a letter or a digit'),
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
      brief: [
        'type',
        'id',
        'projectId',
        'projectName',
        'title',
        'excerpt',
        'columnName',
        'status',
        'archived',
        'foundIn',
        'author',
      ],
    },
    summary: 'Search cards by words in their text, comments and last agent message, and boards and projects by name',
    details: 'The last word can be a prefix.',
    input: Search,
    output: v.array(Hit),
  }),
}
