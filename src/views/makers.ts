import type { InferOutput } from 'valibot'
import type { Maker as MakerView } from '../contract/makers.ts'
import type { Maker } from '../store/makers.ts'
import { localOperator, localOperatorName } from '../store/users.ts'

/** Whose rights something has that goes on by itself; null for what is nobody's. */
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
