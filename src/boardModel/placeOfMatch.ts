interface Found {
  foundIn: 'name' | 'card' | 'comment' | 'message'
  author: string | null
}

/**
 * Describes where a search hit was found, if it is in a comment or in an agent's message. Empty for hits in names and in the card's own
 * text.
 */
export const placeOfMatch = ({ foundIn, author }: Found): string => {
  if (foundIn === 'comment') return `in a comment by ${author ?? 'someone'}`
  return foundIn === 'message' ? "in the agent's last message" : ''
}
