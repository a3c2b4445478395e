import type { CardDetail } from './cardCache.ts'

/** The words for a merged card, "Merged into main". Undefined for other cards. */
export const mergedWords = ({ mergedInto }: Partial<Pick<CardDetail, 'mergedInto'>>): string | undefined =>
  mergedInto ? `Merged into ${mergedInto}` : undefined
