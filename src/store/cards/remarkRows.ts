/**
 * The base of the row IDs of messages in the full-text table of comments and messages. A comment has its ID as row ID. The last
 * message of a card's agent has this negative number plus the card's ID, so comments come first in descending order.
 */
export const firstMessageRow = -(2 ** 52)
