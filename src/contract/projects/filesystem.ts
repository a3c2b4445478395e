import * as v from 'valibot'
import { Count, queryInteger, text, Time } from '../fields.ts'
import { get, user } from '../route.ts'

const AbsolutePath = text(1, 4096)
export const Entry = v.object({
  name: v.string(),
  path: v.string(),
  type: v.picklist(['file', 'folder', 'link', 'other']),
  size: v.nullable(Count),
  modifiedAt: v.nullable(Time),
  isGitRepository: v.boolean(),
})
/** Without `path`: the folders that the caller can browse. `truncated` if a folder contains more than 10,000 entries. */
const Browse = v.strictObject({ path: v.optional(AbsolutePath) })

export const filesystem = {
  browse: get('/api/filesystem/browse', {
    who: user,
    fails: ['FILE_NOT_FOUND', 'PATH_OUTSIDE_ROOTS', 'PATH_NOT_ABSOLUTE'],
    summary: 'List a folder on the server',
    input: Browse,
    output: v.object({
      path: v.nullable(v.string()),
      parent: v.nullable(v.string()),
      entries: v.array(Entry),
      truncated: v.boolean(),
    }),
  }),
  read: get('/api/filesystem/read', {
    who: user,
    fails: ['FILE_NOT_FOUND', 'PATH_OUTSIDE_ROOTS', 'PATH_NOT_ABSOLUTE'],
    summary: 'Get a file on the server, up to 1 MiB',
    input: v.strictObject({ path: AbsolutePath, offset: v.optional(queryInteger(0), 0) }),
    output: v.object({
      path: v.string(),
      size: Count,
      contentType: v.string(),
      encoding: v.picklist(['utf8', 'base64']),
      content: v.string(),
      truncated: v.boolean(),
    }),
  }),
}
