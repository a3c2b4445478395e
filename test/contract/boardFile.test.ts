import { toJsonSchema } from '@valibot/to-json-schema'
import { expect, test } from 'vitest'
import { BoardFile } from '../../src/contract/projects/worktree.ts'

test('the schema of board.json for editors is in the documentation', async () => {
  const schema = toJsonSchema(BoardFile, { target: 'draft-2020-12', errorMode: 'ignore', typeMode: 'input' })
  const titled = { ...schema, title: 'board.json: how the worktrees of a project are prepared' }
  await expect(`${JSON.stringify(titled, null, 2)}\n`).toMatchFileSnapshot('../../docs/board.schema.json')
})
