/** The priorities of a card as people choose them. */
export const priorityOptions = [
  ['urgent', 'Urgent'],
  ['high', 'High'],
  ['normal', 'Normal'],
  ['low', 'Low'],
] as const
