from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("dashboard", "0008_forks_of_forks"),
    ]

    operations = [
        migrations.AddField(
            model_name="replay",
            name="own_step",
            field=models.BigIntegerField(blank=True, null=True),
        ),
    ]
