/** $1: [{id, claim}], $2: ms. Answers with the ids that are still held. */
export const renewText = `
update activities set lease_until = clock_timestamp() + $2::integer * interval '1 millisecond'
from json_to_recordset($1::json) as x(id bigint, claim integer)
where activities.id = x.id and activities.claim = x.claim and activities.state = 'claimed'
returning activities.id`;
