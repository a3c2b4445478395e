import type { InferOutput } from 'valibot'
import type { Maker as MakerView } from '../contract/makers.ts'
import type { Maker } from '../store/accounts/makers.ts'
import { localOperator, localOperatorName } from '../store/accounts/users.ts'

/** The owner of automatic work. Null if there is none. */
export const maker = ({
  makerUserId,
  makerName,
  makerKeyId,
  makerKeyName,
}: Maker & { makerName: string | null; makerKeyName: string | null }): InferOutput<typeof MakerView> | null =>
  makerUserId === null
    ? null
    : {
        userId: String(makerUserId),
        displayName: makerUserId === localOperator ? localOperatorName : makerName,
        keyId: makerKeyId === null ? null : String(makerKeyId),
        keyName: makerKeyName,
      }
