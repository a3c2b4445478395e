interface Found {
  foundIn: 'name' | 'card' | 'comment' | 'message'
  author: string | null
}

/** The place of a search hit outside of names and the card's own text, for people; empty for those. */
export const placeOfMatch = ({ foundIn, author }: Found): string => {
  if (foundIn === 'comment') return `in a comment by ${author ?? 'someone'}`
  return foundIn === 'message' ? "in the agent's last message" : ''
}
