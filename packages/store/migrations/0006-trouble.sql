-- What an open activity waits for: trouble of a model's endpoint, as the engine's Parked. Held: it waits until its run is resumed.
alter table activities add column trouble json;
create index activities_in_trouble on activities (root_id) where trouble is not null and state in ('ready', 'claimed', 'waiting');
