import type { InferOutput } from 'valibot'
import { Key, type NewKey } from '../contract/accounts/keys.ts'
import { publicKeyFields, type KeyRow } from '../store/accounts/keys.ts'
import { viewOf } from './view.ts'

/** An API key as its owner sees it: never the key itself. */
export const key: (row: KeyRow) => InferOutput<typeof Key> = viewOf(publicKeyFields, Key, 'text', (row: KeyRow) => ({
  prefix: row.app === null ? 'svc_ak_' : 'svc_ot_',
}))

/** A key with its secret, for the only response that shows it. */
export const newKey = ({ row, token }: { row: KeyRow; token: string }): InferOutput<typeof NewKey> => ({
  ...key(row),
  key: token,
})
